package stacks

import "github.com/optrace/optrace/analyze/key"

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
	p.text = key.AppendCounted(p.text, frame)
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
