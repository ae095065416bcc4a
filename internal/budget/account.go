// Package budget keeps account of the memory that a reader holds, for whoever bounds it.
package budget

// Account is what somebody holds.
type Account struct {
	// Hold is told how many bytes more are held, or less for a negative number. An error ends what needs them. Nil is told nothing.
	Hold func(bytes int64) error
	told int64
	used int64 // by Take
}

// free is how much Take may hand out before it tells Hold, so that small records cost no calls.
const free = 64 << 10

// Take asks for n bytes more, before they are used, and reports whether Hold allows them. Reset gives all of them back.
func (a *Account) Take(n int) bool {
	a.used += int64(n)
	if a.Hold == nil || a.used <= a.told+free {
		return true
	}
	more := a.used - a.told
	a.told += more
	if a.Hold(more) == nil {
		return true
	}
	a.used -= int64(n)
	_ = a.Set(a.used, 1) // less than before
	return false
}

// Reset gives back what Take took.
func (a *Account) Reset() {
	if a.used = 0; a.told != 0 {
		a.Free()
	}
}

// Set tells Hold that so many bytes are held, unless that differs by less than step from what it was told.
func (a *Account) Set(held, step int64) error {
	more := held - a.told
	if a.Hold == nil || max(more, -more) < step {
		return nil
	}
	a.told = held
	return a.Hold(more)
}

// Free tells Hold that nothing is held any more.
func (a *Account) Free() { _ = a.Set(0, 1) } // less than before

// UpTo returns hold, or where that is nil a function that holds up to most bytes and returns an error beyond.
func UpTo(most int64, tooMuch error, hold func(bytes int64) error) func(bytes int64) error {
	if hold != nil {
		return hold
	}
	held := int64(0)
	return func(bytes int64) error {
		if held += bytes; held > most {
			return tooMuch
		}
		return nil
	}
}
