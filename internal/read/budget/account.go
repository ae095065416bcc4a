// Package budget accounts for the memory of a reader.
package budget

// Account is the memory held by a user.
type Account struct {
	// Hold gets the number of additional bytes, negative for fewer. An error ends the work. Nil allows all.
	Hold    func(bytes int64) error
	told    int64
	used    int64 // the sum of Take
	refused bool  // by Hold, until Reset
}

const free = 64 << 10

// Take asks for n more bytes before their use. After a refusal it allows no more until Reset, which returns all.
func (a *Account) Take(n int) bool {
	if a.Hold == nil {
		return true
	}
	a.used += int64(n)
	if a.used > a.told+free && !a.refused {
		more := a.used - a.told
		a.told += more
		a.refused = a.Hold(more) != nil
	}
	return !a.refused
}

// Reset returns the bytes of Take.
func (a *Account) Reset() {
	a.used = 0
	a.refused = false
	if a.told != 0 {
		a.Free()
	}
}

// Set tells Hold the number of bytes held, unless it differs by less than step from the last call.
func (a *Account) Set(held, step int64) error {
	more := held - a.told
	if a.Hold == nil || max(more, -more) < step {
		return nil
	}
	a.told = held
	return a.Hold(more)
}

// Free tells Hold the number 0.
func (a *Account) Free() { _ = a.Set(0, 1) } // less than before

// UpTo returns hold. If hold is nil it returns a function that holds up to most bytes and returns tooMuch beyond.
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
