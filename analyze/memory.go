package analyze

// holder is a Source that bounds the memory that is taken for it.
type holder interface {
	// Hold notes that so many bytes more are held, or less for a negative number. An error
	// ends the reading.
	Hold(bytes int64) error
}

// longPerCheck is how many records with long texts there are between two looks at the
// memory: what follows from them may hold on to all of their text.
const longPerCheck = 4
