// Package stacks adds up weights by stack and writes them as collapsed stacks,
// the input of flame graph tools. It holds the one writer and the one escaping
// of frames for the stacks of self time and for the flat stacks of device and
// operation.
package stacks

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/internal/symbols"
	"github.com/optrace/optrace/analyze/internal/wide"
)

// MaxDepth is the largest number of frames in a stack. The weight of a deeper
// stack belongs to the stack that ends in the frame Deeper in place of the
// MaxDepth-th: the stacks of a chain of a million calls would fill a terabyte.
const (
	MaxDepth = 512
	Deeper   = "(deeper)"
)

// Root is the stack without frames.
const Root int32 = 0

// Tree holds distinct stacks with their weights, each as a frame below another
// stack. Frames and stacks are identified by number. It is not safe for
// concurrent use.
type Tree struct {
	frames symbols.Table[string]
	nodes  []node
	find   map[edge]int32
	deeper int32 // the frame Deeper
}

type node struct {
	above, frame, depth int32
	weight              wide.Sum
}

type edge struct{ above, frame int32 }

// NewTree returns an empty Tree.
func NewTree() *Tree {
	t := &Tree{nodes: make([]node, 1), find: make(map[edge]int32)}
	t.deeper = t.Frame(Deeper)
	return t
}

// Frame returns the frame of a name. Names that are equal once they are escaped
// have the same frame.
func (t *Tree) Frame(name string) int32 { return t.frames.ID(Escape(name)) }

// Below returns the stack of the frame below another stack.
func (t *Tree) Below(above, frame int32) int32 {
	depth := t.nodes[above].depth + 1
	switch {
	case depth > MaxDepth:
		return above
	case depth == MaxDepth:
		frame = t.deeper
	}
	e := edge{above, frame}
	stack, ok := t.find[e]
	if !ok {
		stack = int32(len(t.nodes))
		t.nodes = append(t.nodes, node{above: above, frame: frame, depth: depth})
		t.find[e] = stack
	}
	return stack
}

// Add adds to the weight of a stack.
func (t *Tree) Add(stack int32, weight int64) { t.nodes[stack].weight.Add(weight) }

// Write writes a line per stack with a weight: the frames from the root down,
// joined by semicolons, a space and the weight. The lines are sorted by stack.
func (t *Tree) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	err := t.write(out)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("writing collapsed stacks: %w", err)
	}
	return nil
}

// item is the next thing to write: the line of a stack, or the stacks below it.
type item struct {
	stack int32
	below bool
}

// write sorts without building the stacks. Among the stacks below the same one
// the line of frame f compares like f, and all lines below it compare like
// f + ";", because no frame contains a semicolon: it is enough to sort these two
// keys of each frame.
func (t *Tree) write(out *bufio.Writer) error {
	children := t.children()
	var prefix []byte
	var lengths []int // of prefix, at each depth
	pending := []item{{stack: Root, below: true}}
	for len(pending) > 0 {
		next := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		n := &t.nodes[next.stack]
		if next.stack != Root {
			lengths = lengths[:n.depth]
			prefix = append(prefix[:lengths[n.depth-1]], t.frames.Values[n.frame]...)
		}
		if !next.below {
			out.Write(prefix)
			out.WriteByte(' ')
			out.Write(strconv.AppendInt(out.AvailableBuffer(), n.weight.Int64(), 10))
			if err := out.WriteByte('\n'); err != nil { // of any of these writes
				return err
			}
			continue
		}
		if next.stack != Root {
			prefix = append(prefix, ';')
		}
		lengths = append(lengths, len(prefix))
		base := len(pending)
		for _, child := range children[next.stack] {
			if t.nodes[child].weight != (wide.Sum{}) {
				pending = append(pending, item{stack: child})
			}
			if len(children[child]) > 0 {
				pending = append(pending, item{stack: child, below: true})
			}
		}
		slices.SortFunc(pending[base:], func(a, b item) int { return t.compare(b, a) }) // the last one is taken first
	}
	return nil
}

// children lists the stacks below each stack.
func (t *Tree) children() [][]int32 {
	counts := make([]int32, len(t.nodes))
	for _, n := range t.nodes[1:] {
		counts[n.above]++
	}
	all := make([]int32, len(t.nodes)-1)
	children := make([][]int32, len(t.nodes))
	for i, n := range counts {
		children[i], all = all[:0:n], all[n:]
	}
	for i, n := range t.nodes[1:] {
		children[n.above] = append(children[n.above], int32(i+1))
	}
	return children
}

// compare orders the lines of two items below the same stack.
func (t *Tree) compare(a, b item) int {
	x, y := t.frames.Values[t.nodes[a.stack].frame], t.frames.Values[t.nodes[b.stack].frame]
	n := min(len(x), len(y))
	return cmp.Or(strings.Compare(x[:n], y[:n]), cmp.Compare(nextByte(x[n:], a), nextByte(y[n:], b)))
}

// nextByte returns the first byte of the remainder of a key, -1 at its end.
func nextByte(remainder string, i item) int {
	switch {
	case remainder != "":
		return int(remainder[0])
	case i.below:
		return ';'
	}
	return -1
}
