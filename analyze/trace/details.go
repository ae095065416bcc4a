package trace

import (
	"iter"

	"github.com/optrace/optrace/op"
)

// Nodes returns all operations and spans in the order of the input.
func (f *Forest) Nodes() iter.Seq[Node] {
	f.Build()
	return func(yield func(Node) bool) {
		for r := range int32(f.Len()) {
			if !yield(f.Node(r)) {
				return
			}
		}
	}
}

// Stream returns the device's queue that the operation ran on.
func (n Node) Stream() op.Int {
	if !n.IsOp() {
		return op.Int{}
	}
	return n.Forest.Names.Lanes.Values[n.Forest.Lane(n.Row)].Stream
}

// Step returns the iteration that the operation belongs to.
func (n Node) Step() op.Int { return n.known(FlagStep, (*Forest).Step) }

// MemoryBytes returns the memory of the operation; 0 is not distinguished from
// unknown.
func (n Node) MemoryBytes() int64 { return of(n, (*Forest).Memory) }

// FLOPs returns the floating-point operations of the operation, as recorded or as they
// follow from its shapes; 0 is not distinguished from unknown.
func (n Node) FLOPs() int64 { return of(n, (*Forest).Flops) }

// Shapes returns the shapes and the element type of the operation as text, such
// as "64x784, 784x256 → 64x256 f32"; "" where they are not known or the forest
// was not made to keep them.
func (n Node) Shapes() string {
	return of(n, func(f *Forest, r int32) string { return f.Names.Shapes.Values[f.Shape(r)] })
}

// Arguments returns how a kernel was launched, its grid, block and so on, as a JSON object with the names of PyTorch's
// profiler; "" where nothing is known or the forest was not made to keep it.
func (n Node) Arguments() string {
	return of(n, func(f *Forest, r int32) string { return f.Names.Arguments.Values[f.Arguments(r)] })
}

// Launch returns when the host handed the operation to its device, in Unix
// nanoseconds.
func (n Node) Launch() op.Int { return n.known(FlagLaunch, (*Forest).Launch) }

// Launcher returns the operator on the host that launched the operation, see [Forest.Launcher].
func (n Node) Launcher() Node {
	return of(n, func(f *Forest, r int32) Node { return n.nodeOf(f.Launcher(r)) })
}

// Links returns the operations and spans that the links of n lead to, as far as they
// are in the input.
func (n Node) Links() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if n.IsZero() {
			return
		}
		f := n.Forest
		f.Build()
		first, links := linksOf(f.links, n.Row)
		for i := range links {
			if to := f.Tree.target[first+i]; to != NoRow && !yield(f.Node(to)) {
				return
			}
		}
	}
}
