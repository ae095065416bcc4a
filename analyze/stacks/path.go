package stacks

import "encoding/binary"

// The bounds of a stack: the largest number of frames, and about how long their names are together. The operations of a
// longer one belong to the stack that ends in the frame Deeper there.
const (
	MaxDepth = 512
	MaxBytes = 32 << 10
	Deeper   = "(deeper)"
)

// Path is a stack that grows and shrinks while a tree is walked. The zero value
// has no frames.
type Path struct {
	text []byte // the frames, each behind its length
	ends []int  // of text, by frame
	full bool   // it ends in Deeper
}

// Depth returns the number of frames.
func (p *Path) Depth() int { return len(p.ends) }

// Push puts a frame below the others. Where there is no room for it, the path
// ends in Deeper, and stays as it is from then on.
func (p *Path) Push(frame string) {
	if p.full {
		return
	}
	if len(p.ends) == MaxDepth-1 || len(p.text)+len(frame) > MaxBytes {
		frame, p.full = Deeper, true
	}
	p.text = appendText(p.text, frame)
	p.ends = append(p.ends, len(p.text))
}

// Cut takes all frames away but the first depth ones.
func (p *Path) Cut(depth int) {
	if depth >= len(p.ends) {
		return
	}
	p.ends, p.full = p.ends[:depth], false
	end := 0
	if depth > 0 {
		end = p.ends[depth-1]
	}
	p.text = p.text[:end]
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// cutText returns the text that stands first in s, and what follows it.
func cutText(s string) (text, rest string) {
	n, shift := 0, 0
	for i := range len(s) {
		n |= int(s[i]&0x7f) << shift
		if s[i] < 0x80 {
			return s[i+1:][:n], s[i+1:][n:]
		}
		shift += 7
	}
	panic("stacks: a key without an end") // of appendText's
}
