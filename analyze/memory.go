package analyze

// holder is a Source that bounds the memory that is taken for it.
type holder interface {
	// Hold notes that so many bytes more are held, or less for a negative number. An error
	// ends the reading.
	Hold(bytes int64) error
}

// account tells a holder how much memory something takes. The zero value tells nobody.
type account struct {
	holder holder
	held   int64 // what holder knows of
}

func (a *account) set(n int64) error {
	more := n - a.held
	if a.holder == nil || more == 0 {
		return nil
	}
	a.held = n
	return a.holder.Hold(more)
}

// longPerCheck is how many records with long texts there are between two looks at the
// memory: what follows from them may hold on to all of their text.
const longPerCheck = 4
