package trace

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// Node is an operation or span of a [Forest]. It is valid until records are added to the forest. The zero Node
// stands for no node; its methods return zero values.
type Node struct {
	Forest *Forest
	Row    int32
}

// Node returns the node of row r.
func (f *Forest) Node(r int32) Node { return Node{f, r} }

// IsZero reports whether n stands for no node.
func (n Node) IsZero() bool { return n.Forest == nil }

// Index returns the number of operations and spans added before n.
func (n Node) Index() int { return int(n.Row) }

func (n Node) has(flag Flags) bool { return n.Forest != nil && n.Forest.Has(n.Row, flag) }

// IsOp reports whether n is an operation.
func (n Node) IsOp() bool { return n.has(FlagOp) }

// IsOrphan reports whether n is an operation whose parent was not read.
func (n Node) IsOrphan() bool { return n.has(flagOrphan) }

// IsDuplicate reports whether an earlier node has the ids of n. Duplicates are not in the tree.
func (n Node) IsDuplicate() bool { return n.has(FlagDuplicate) }

// of returns get for the row of n, or the zero value for no node.
func of[T any](n Node, get func(f *Forest, r int32) T) (v T) {
	if n.Forest != nil {
		v = get(n.Forest, n.Row)
	}
	return v
}

// Name returns the name of the operation or span.
func (n Node) Name() string { return of(n, (*Forest).RowName) }

// Service returns the service of a span, "" for an operation.
func (n Node) Service() string {
	return of(n, func(f *Forest, r int32) string {
		if f.Has(r, FlagOp) {
			return ""
		}
		return f.Names.Spans.Values[f.Name(r)].Service
	})
}

// Kind returns the kind of an operation, op.KindUnknown for a span.
func (n Node) Kind() op.Kind { return of(n, (*Forest).Kind) }

// Side returns the side of an operation, op.SideNone for a span.
func (n Node) Side() op.Side {
	if n.has(FlagHost) {
		return op.SideHost
	}
	return op.SideNone
}

// Device returns the device of an operation, the zero Key for a span.
func (n Node) Device() device.Key {
	if !n.IsOp() {
		return device.Key{}
	}
	return n.Forest.DeviceKey(n.Row)
}

// TraceID returns the trace id; zero for a local trace (see [opfile.LocalTraceID]).
func (n Node) TraceID() op.TraceID { return of(n, (*Forest).traceID) }

func (f *Forest) traceID(r int32) op.TraceID {
	if f.IsLocal(r) {
		return op.TraceID{}
	}
	return f.Names.Traces.Values[f.Trace(r)]
}

// SpanID returns the span id; zero in a local trace.
func (n Node) SpanID() op.SpanID {
	if n.IsZero() || n.Forest.IsLocal(n.Row) {
		return op.SpanID{}
	}
	return SpanID(n.Forest.Span(n.Row))
}

func (n Node) known(flag Flags, get func(f *Forest, r int32) int64) op.Int {
	if !n.has(flag) {
		return op.Int{}
	}
	return op.Known(get(n.Forest, n.Row))
}

// Start returns the start in Unix nanoseconds.
func (n Node) Start() op.Int { return n.known(FlagStart, (*Forest).Start) }

// Duration returns the duration in nanoseconds.
func (n Node) Duration() int64 { return of(n, (*Forest).Duration) }

func (n Node) nodeOf(row int32) Node {
	if row == NoRow {
		return Node{}
	}
	return n.Forest.Node(row)
}

// Parent returns the node above n; the zero Node for roots, orphans and duplicates.
func (n Node) Parent() Node {
	return of(n, func(f *Forest, r int32) Node { return n.nodeOf(f.Tree.Parent[r]) })
}

// Children yields the nodes directly below n, last to end first.
func (n Node) Children() iter.Seq[Node] {
	return n.Forest.NodesOf(of(n, func(f *Forest, r int32) []int32 { return f.Tree.Children(r) }))
}

// Roots yields the nodes without a parent, including orphans, grouped by trace in input order.
func (f *Forest) Roots() iter.Seq[Node] {
	f.Build()
	return f.NodesOf(f.Tree.Roots)
}

// NodesOf yields the nodes of rows.
func (f *Forest) NodesOf(rows []int32) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for _, r := range rows {
			if !yield(f.Node(r)) {
				return
			}
		}
	}
}

// Nodes yields all operations and spans in input order.
func (f *Forest) Nodes() iter.Seq[Node] {
	f.Build()
	return func(yield func(Node) bool) {
		for r := range int32(f.Len()) {
			if f.EndedAt(int(r)) || !yield(f.Node(r)) {
				return
			}
		}
	}
}

// Stream returns the stream of the operation.
func (n Node) Stream() op.Int {
	if !n.IsOp() {
		return op.Int{}
	}
	return n.Forest.Names.Lanes.Values[n.Forest.Lane(n.Row)].Stream
}

// Step returns the step of the operation.
func (n Node) Step() op.Int { return n.known(FlagStep, (*Forest).Step) }

// MemoryBytes returns the memory of the operation, 0 if unknown.
func (n Node) MemoryBytes() int64 { return of(n, (*Forest).Memory) }

// FLOPs returns the FLOPs of the operation, recorded or derived from shapes, 0 if unknown.
func (n Node) FLOPs() int64 { return of(n, (*Forest).Flops) }

// Shapes returns the shapes and element type of the operation, such as "64x784, 784x256 → 64x256 f32"; "" if unknown
// or without [Forest.KeepShapes].
func (n Node) Shapes() string {
	return of(n, func(f *Forest, r int32) string { return f.Names.Shapes.Values[f.Shape(r)] })
}

// Failure reports whether the operation or span failed, and its error text, "" if unknown.
func (n Node) Failure() (text string, failed bool) {
	if !n.has(FlagFailed) {
		return "", false
	}
	return n.Forest.ErrorText(n.Row), true
}

// Arguments returns the launch arguments of a kernel, such as grid and block, as a JSON object with the names of
// PyTorch's profiler; "" if unknown or without [Forest.KeepShapes].
func (n Node) Arguments() string {
	return of(n, func(f *Forest, r int32) string { return f.Names.Arguments.Values[f.Arguments(r)] })
}

// Launch returns the launch time of the operation in Unix nanoseconds.
func (n Node) Launch() op.Int { return n.known(FlagLaunch, (*Forest).Launch) }

// Launcher returns the host operator that launched the operation, see [Forest.Launcher].
func (n Node) Launcher() Node {
	return of(n, func(f *Forest, r int32) Node { return n.nodeOf(f.Launcher(r)) })
}

// Links yields the link targets of n that are in the input.
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

// GroupBy makes f keep the group of each operation added later. If a key needs the tree, f also keeps what sums of
// groups need, because the groups change once the tree is built.
func (f *Forest) GroupBy(keys []key.Key) {
	f.By = keys
	f.ByTree = slices.ContainsFunc(keys, key.Key.NeedsTree)
}

// FillGroups adds the local roots and operators found in the tree to the groups of operations that state
// none. It reports whether any group changed.
func (f *Forest) FillGroups() bool {
	if !f.ByTree {
		return false
	}
	f.Build()
	changed := slices.Contains(f.By, key.Root) && f.fillRoots()
	return slices.Contains(f.By, key.Operator) && f.fillOperators() || changed
}

// fillOperators fills in operators, and CUDA graphs in their place.
func (f *Forest) fillOperators() (changed bool) {
	if f.Tree.launcher == nil && f.Tree.graphs == nil {
		return false
	}
	for r := range f.Rows() {
		if f.Flags(r)&(FlagOp|FlagHost) == FlagOp &&
			(f.code(r, colGraph) != 0 || f.code(r, colLauncher) == 0 && f.Launcher(r) != NoRow) {
			f.setKey(r, key.Operator, f.LaunchName(r))
			changed = true
		}
	}
	return changed
}

// fillRoots fills in local roots. A duplicate gets the root of the first row with its ids.
func (f *Forest) fillRoots() bool {
	roots := f.localRoots()
	changed := false
	for r := range f.Rows() {
		if !f.Has(r, FlagOp) || f.IsLocal(r) || f.Names.Stamps.Values[f.Stamp(r)].Name != "" {
			continue
		}
		original := r
		if f.Has(r, FlagDuplicate) {
			original = f.Tree.Originals[r]
		}
		name := ""
		switch root := roots[original]; {
		case root == NoRow:
		case int(root) >= f.Len():
			name = f.Names.Stamps.Values[root-f.Rows()].Name
		case f.Span(root) != 0: // operations without ids do not count
			name = f.RowName(root)
		}
		if name != "" {
			f.setKey(r, key.Root, name)
			changed = true
		}
	}
	return changed
}

func (f *Forest) setKey(r int32, of key.Key, value string) {
	f.scratch = f.scratch[:0]
	text := f.Names.Groups.Values[f.Group(r)]
	for _, k := range f.By {
		_, rest := k.Decode(text)
		if k == of {
			f.scratch = key.AppendCounted(f.scratch, value)
		} else {
			f.scratch = append(f.scratch, text[:len(text)-len(rest)]...)
		}
		text = rest
	}
	f.set(r, colGroup, int64(f.Names.Groups.ID(f.scratch)))
}

// Group returns the number of n's group by the keys of GroupBy: equal values have equal numbers. It returns -1 for
// spans, for repeats, and without keys.
func (n Node) Group() int {
	if n.IsZero() || n.Forest.By == nil || !n.Forest.CountsInSums(n.Row) {
		return -1
	}
	return int(n.Forest.Group(n.Row))
}

// GroupKey returns the keys and values of the group with the given number.
func (f *Forest) GroupKey(group int) key.Group {
	return key.Group{Keys: f.By, Values: key.Decode(f.Names.Groups.Values[group], f.By)}
}
