package stacks

import "github.com/optrace/optrace/analyze/key"

// The bounds of a stack: its frames, and roughly the bytes of their names. A longer stack ends in the frame Deeper.
const (
	MaxDepth = 512
	MaxBytes = 32 << 10
	Deeper   = "(deeper)"
)

// Path is a stack that grows and shrinks during a walk. The zero value has no frames.
type Path struct {
	text []byte // the frames, each after its length
	ends []int  // the end of each frame in text
	full bool   // ends in Deeper
}

// Depth returns the number of frames.
func (p *Path) Depth() int { return len(p.ends) }

// Push adds a frame at the bottom. Beyond the bounds it adds Deeper, and later frames are ignored.
func (p *Path) Push(frame string) {
	if p.full {
		return
	}
	if len(p.ends) == MaxDepth-1 || len(p.text)+len(frame) > MaxBytes {
		frame = Deeper
		p.full = true
	}
	p.text = key.AppendCounted(p.text, frame)
	p.ends = append(p.ends, len(p.text))
}

// Cut removes all frames but the first depth.
func (p *Path) Cut(depth int) {
	if depth >= len(p.ends) {
		return
	}
	p.ends = p.ends[:depth]
	p.full = false
	end := 0
	if depth > 0 {
		end = p.ends[depth-1]
	}
	p.text = p.text[:end]
}
