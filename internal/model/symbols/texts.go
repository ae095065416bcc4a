package symbols

// Texts is a Table of texts composed in a buffer. The zero value is ready to use.
type Texts struct{ Table[string] }

// ID returns the number of a text. It allocates only for a new one.
func (t *Texts) ID(text []byte) int32 {
	if id, ok := t.ids[string(text)]; ok {
		return id
	}
	return t.Table.ID(string(text))
}
