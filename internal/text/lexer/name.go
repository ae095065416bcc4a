package lexer

import (
	"encoding/binary"
	"fmt"
)

// Name is an expected name of a member with its punctuation, such as `,"step":`, compared in three words.
type Name struct {
	first, second, third  uint64
	secondMask, thirdMask uint64
	length                int
}

const nameWindow = 24 // the length of the text compared with a Name

// NewName returns the Name of a text of 8 to 24 bytes.
func NewName(text string) Name {
	if len(text) < 8 || len(text) > nameWindow {
		panic(fmt.Sprintf("lexer: a name of %d bytes", len(text)))
	}
	var window, mask [nameWindow]byte
	for i := range copy(window[:], text) {
		mask[i] = 0xff
	}
	word := binary.LittleEndian.Uint64
	return Name{
		first: word(window[:]), second: word(window[8:]), third: word(window[16:]),
		secondMask: word(mask[8:]), thirdMask: word(mask[16:]), length: len(text),
	}
}

// Read reads the name like [Literal], except in the last 24 bytes of b.
func (n *Name) Read(b []byte, i int) int {
	if i >= 0 && len(b)-i >= nameWindow {
		w := (*[nameWindow]byte)(b[i : i+nameWindow])
		if binary.LittleEndian.Uint64(w[:]) == n.first && binary.LittleEndian.Uint64(w[8:])&n.secondMask == n.second &&
			binary.LittleEndian.Uint64(w[16:])&n.thirdMask == n.third {
			return i + n.length
		}
	}
	return -1
}
