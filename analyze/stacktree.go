package analyze

import (
	"bufio"
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// rootStack is the stack without frames.
const rootStack int32 = 0

// stackTree holds distinct stacks, each as a frame below another stack.
type stackTree struct {
	frames symbols[string]
	nodes  []stackNode
	find   map[stackEdge]int32
	deeper int32 // the frame of DeeperFrame
}

type stackNode struct {
	above, frame, depth int32
	weight              wide
}

type stackEdge struct{ above, frame int32 }

func newStackTree() *stackTree {
	s := &stackTree{nodes: make([]stackNode, 1), find: make(map[stackEdge]int32)}
	s.deeper = s.frame(DeeperFrame)
	return s
}

// frame returns the number of the frame for name.
func (s *stackTree) frame(name string) int32 { return s.frames.id(escapeFrame(name)) }

// below returns the stack with frame below another.
func (s *stackTree) below(above, frame int32) int32 {
	depth := s.nodes[above].depth + 1
	switch {
	case depth > MaxStackDepth:
		return above
	case depth == MaxStackDepth:
		frame = s.deeper
	}
	edge := stackEdge{above, frame}
	stack, ok := s.find[edge]
	if !ok {
		stack = int32(len(s.nodes))
		s.nodes = append(s.nodes, stackNode{above: above, frame: frame, depth: depth})
		s.find[edge] = stack
	}
	return stack
}

// stackItem is what to write next: the line of a stack, or the stacks below it.
type stackItem struct {
	stack int32
	below bool
}

// write writes a line per stack with a weight, sorted.
//
// Stacks need not be put together to be sorted. Among those below the same
// stack the line of frame f compares like f, and all the lines below it like
// f + ";", as no frame holds a semicolon; so it is enough to sort these two
// keys of each frame.
func (s *stackTree) write(out *bufio.Writer) error {
	children, first := s.children()
	var prefix []byte
	var lengths []int // of prefix, for each stack that it is made of
	pending := []stackItem{{stack: rootStack, below: true}}
	for len(pending) > 0 {
		item := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		node := &s.nodes[item.stack]
		if item.stack != rootStack {
			lengths = lengths[:node.depth]
			prefix = append(prefix[:lengths[node.depth-1]], s.frames.values[node.frame]...)
		}
		if !item.below {
			out.Write(prefix)
			out.WriteByte(' ')
			out.Write(strconv.AppendInt(out.AvailableBuffer(), node.weight.int64(), 10))
			if err := out.WriteByte('\n'); err != nil { // of any of these writes
				return err
			}
			continue
		}
		if item.stack != rootStack {
			prefix = append(prefix, ';')
		}
		lengths = append(lengths, len(prefix))
		base := len(pending)
		for _, child := range children[first[item.stack]:first[item.stack+1]] {
			if s.nodes[child].weight != (wide{}) {
				pending = append(pending, stackItem{stack: child})
			}
			if first[child] < first[child+1] {
				pending = append(pending, stackItem{stack: child, below: true})
			}
		}
		slices.SortFunc(pending[base:], func(a, b stackItem) int { return s.compareItems(b, a) }) // what is taken first comes last
	}
	return nil
}

// children lists the stacks below each stack: those of stack i are
// rows[first[i]:first[i+1]].
func (s *stackTree) children() (rows, first []int32) {
	return groupRows(int32(len(s.nodes)), len(s.nodes), func(i int32) int32 {
		if i == rootStack {
			return noRow
		}
		return s.nodes[i].above
	})
}

// compareItems orders the lines that items of the same stack stand for.
func (s *stackTree) compareItems(a, b stackItem) int {
	x, y := s.frames.values[s.nodes[a.stack].frame], s.frames.values[s.nodes[b.stack].frame]
	n := min(len(x), len(y))
	return cmp.Or(strings.Compare(x[:n], y[:n]), cmp.Compare(nextByte(x[n:], a), nextByte(y[n:], b)))
}

// nextByte returns the first byte of the rest of a key, -1 at its end.
func nextByte(rest string, item stackItem) int {
	switch {
	case rest != "":
		return int(rest[0])
	case item.below:
		return ';'
	}
	return -1
}
