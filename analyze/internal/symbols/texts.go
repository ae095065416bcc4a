package symbols

// Texts numbers distinct texts that are composed in a buffer, in the order in
// which they first appear. The zero value is ready to use.
type Texts struct {
	// Values holds the texts by number.
	Values []string

	ids   map[string]int32
	bytes int64 // of the texts
}

// ID returns the number of a text. It allocates only for a new one.
func (t *Texts) ID(text []byte) int32 {
	if id, ok := t.ids[string(text)]; ok {
		return id
	}
	return t.add(string(text))
}

// Add returns the number of a text that is a string already.
func (t *Texts) Add(text string) int32 {
	if id, ok := t.ids[text]; ok {
		return id
	}
	return t.add(text)
}

func (t *Texts) add(text string) int32 {
	if t.ids == nil {
		t.ids = make(map[string]int32)
	}
	t.bytes += int64(len(text))
	id := int32(len(t.Values))
	t.ids[text] = id
	t.Values = append(t.Values, text)
	return id
}

// Bytes returns about how much memory the texts take.
func (t *Texts) Bytes() int64 {
	const each = 48 // in the list and in the map
	return t.bytes + int64(len(t.Values))*each
}

// Release frees the memory that only ID and Add need. Neither must be called
// again.
func (t *Texts) Release() { t.ids = nil }
