package profiler

import "github.com/optrace/optrace/internal/text/intern"

// Symbols numbers distinct texts. Number 0 is "".
type Symbols struct {
	index  map[string]uint32
	texts  []string
	bytes  int64
	recent [1 << recentBits]uint32 // a direct-mapped cache in front of the index
}

const recentBits = 12

// symbolBytes is the memory of a text beside its bytes: its headers and its share of slack.
const symbolBytes = 56

// Bytes returns the memory of the texts.
func (s *Symbols) Bytes() int64 { return s.bytes }

// Texts returns the texts by their numbers.
func (s *Symbols) Texts() []string { return s.texts }

// Add returns the number of a text.
func (s *Symbols) Add(text []byte) uint32 {
	if len(text) == 0 {
		return 0
	}
	slot := &s.recent[intern.Hash(text)>>(64-recentBits)]
	if n := *slot; n != 0 && s.texts[n] == string(text) {
		return n
	}
	n, ok := s.index[string(text)] // does not allocate
	if !ok {
		n = s.addNew(string(text))
	}
	*slot = n
	return n
}

func (s *Symbols) addNew(text string) uint32 {
	if s.index == nil {
		s.index = make(map[string]uint32)
		s.texts = make([]string, 1)
	}
	n := uint32(len(s.texts))
	s.index[text] = n
	s.texts = append(s.texts, text)
	s.bytes += int64(len(text)) + symbolBytes
	return n
}

// Text returns the text of a number.
func (s *Symbols) Text(n uint32) string {
	if n == 0 {
		return ""
	}
	return s.texts[n]
}
