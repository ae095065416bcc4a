package perfetto

// names numbers texts from 1, in the order in which they are first seen.
type names struct {
	ids  map[string]int64
	list []string
	size int64 // of the texts
}

// id returns the number of a text.
func (n *names) id(text string) int64 {
	id, ok := n.ids[text]
	if !ok {
		if n.ids == nil {
			n.ids = make(map[string]int64)
		}
		n.list = append(n.list, text)
		id = int64(len(n.list))
		n.ids[text] = id
		n.size += int64(len(text))
	}
	return id
}

// nameBytes is the memory of a text beside its bytes: its headers in the index and in the
// list, and its share of the index's slack.
const nameBytes = 56

// bytes returns about how much memory the texts take.
func (n *names) bytes() int64 { return n.size + int64(len(n.list))*nameBytes }
