package wire

// Texts numbers texts in the order of their first appearance, for the tables of messages. The first, 0, is the empty one.
type Texts struct {
	list   []string
	places map[string]int32
}

// Place returns the number of a text.
func (t *Texts) Place(text string) int32 {
	if t.places == nil {
		t.list, t.places = []string{""}, map[string]int32{"": 0}
	}
	place, ok := t.places[text]
	if !ok {
		place = int32(len(t.list))
		t.list, t.places[text] = append(t.list, text), place
	}
	return place
}

// All returns the texts.
func (t *Texts) All() []string {
	t.Place("")
	return t.list
}
