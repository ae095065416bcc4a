package html

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

// The kind numbers of rows other than operations of devices, as in the page's module rows.
const (
	kindSpan  = 6
	kindHost  = 7  // the host's view of an operation
	kindRange = 8  // a range on a thread, such as an annotation
	kindCall  = 9  // a call of a device's runtime
	kindWait  = 10 // a runtime call that waits for a device
)

// kind returns the number of a row's kind in the page's module rows. Operations of devices have that of [op.Kind].
func (one *row) kind() uint64 {
	n := one.node
	switch {
	case one.call != nil && attrkey.IsWait(one.call.Name):
		return kindWait
	case one.call != nil && runtimeCall.MatchString(one.call.Name):
		return kindCall
	case one.call != nil:
		return kindRange
	case !n.IsOp():
		return kindSpan
	case n.Side() == op.SideHost:
		return kindHost
	}
	return uint64(n.Kind())
}

// runtimeCall matches the calls of the runtimes of CUDA, HIP, oneAPI, MUSA and Ascend.
var runtimeCall = regexp.MustCompile(`^(cu|cuda|hip|ur|pi|musa|aclrt)[A-Z]`)

// row is an operation, a span or a call of the host.
type row struct {
	node       trace.Node  // zero for a call
	call       *trace.Call // nil for a node
	start      int64       // Unix nanoseconds
	duration   int64
	shape      int32 // in shapes
	collective int32 // its number plus one, or 0
}

// none marks missing rows and requests.
const none = -1

// rows holds the operations and spans of the page, ordered by start, and the tables that their columns refer to. Nodes
// without a start and repeats are left out.
type rows struct {
	list    []row
	index   []int32 // the row of each node, by trace.Node.Index
	request []int32 // of operations and the spans above them, likewise
	origin  int64   // Unix nanoseconds at the page's time 0
	span    int64   // nanoseconds from there to the last end
	leftOut int

	names     symbols.Table[string]
	devices   symbols.Table[device.Key]
	shapes    symbols.Table[string]
	steps     symbols.Table[int64]
	threads   symbols.Table[thread]
	arguments symbols.Table[string] // JSON objects with arguments of kernels, "" without any
	errors    symbols.Table[string] // the texts of errors
}

// maxTexts bounds the distinct names and the distinct shapes of a page, maxArguments the arguments of kernels.
const (
	maxTexts     = 20_000
	maxArguments = 5_000
)

func newRows(forest *trace.Forest) *rows {
	r := new(rows)
	r.shapes.ID("")
	r.arguments.ID("")
	r.request = slices.Repeat([]int32{none}, forest.Len())
	collectives := make([]int32, forest.Len())
	number := int32(0)
	for parts := range collective.FindJoins(forest).All() {
		if len(parts) < 2 {
			continue
		}
		number++
		for _, p := range parts {
			collectives[p.Row] = number
		}
	}
	r.list = make([]row, 0, forest.Len()+len(forest.Calls))
	for _, p := range r.inOrder(forest) {
		one := row{start: p.start, duration: p.duration}
		if at := int(p.order); at >= forest.Len() {
			one.call = &forest.Calls[at-forest.Len()]
		} else {
			one.node = trace.Node{Forest: forest, Row: p.order}
			one.shape = r.shapes.Within(maxTexts, one.node.Shapes(), "")
			one.collective = collectives[at]
		}
		r.list = append(r.list, one)
	}
	r.index = slices.Repeat([]int32{none}, forest.Len())
	for i := range r.list {
		r.origin = r.list[0].start
		r.span = max(r.span, r.list[i].start+r.list[i].duration-r.origin)
		if r.list[i].call == nil {
			r.index[r.list[i].node.Index()] = int32(i)
		}
	}
	r.numberDevices()
	return r
}

// place is the place of a row: its times, then its order among the nodes, with the calls behind them.
type place struct {
	start, duration int64
	order           int32
}

// inOrder returns the places of the nodes with a start and of the calls by time, longer ones first.
func (r *rows) inOrder(forest *trace.Forest) []place {
	all := make([]place, 0, forest.Len()+len(forest.Calls))
	for n := range forest.Nodes() {
		if !n.Start().Known || n.IsDuplicate() {
			r.leftOut++
			continue
		}
		all = append(all, place{n.Start().V, n.Duration(), n.Row})
	}
	for i := range forest.Calls {
		c := &forest.Calls[i]
		all = append(all, place{c.Start, c.Duration, int32(forest.Len() + i)})
	}
	slices.SortFunc(all, func(a, b place) int {
		if d := cmp.Compare(a.start, b.start); d != 0 {
			return d
		}
		return cmp.Or(cmp.Compare(b.duration, a.duration), cmp.Compare(a.order, b.order))
	})
	return all
}

func (r *rows) name(name string) int32 { return r.names.Within(maxTexts, name, key.Other) }

// thread is a thread of the host.
type thread struct {
	Rank op.Int `json:"rank"`
	ID   int64  `json:"id"`
}

// threadCode returns the number of the thread of a row plus one, 0 if it is unknown.
func (r *rows) threadCode(_ int, one *row) uint64 {
	var t thread
	if c := one.call; c != nil {
		if !c.Thread.Known {
			return 0
		}
		t = thread{c.Rank, c.Thread.V}
	} else {
		f := one.node.Forest
		number := f.Thread(one.node.Row)
		if number == 0 || f.IsDeviceSide(one.node.Row) {
			return 0
		}
		t = thread{one.node.Device().Rank, f.Names.Threads.Values[number]}
	}
	return uint64(r.threads.ID(t)) + 1
}

// label returns the name of the operation, span or call.
func (one *row) label() string {
	if one.call != nil {
		return one.call.Name
	}
	return one.node.Name()
}

// self returns the duration without the union of the operations below.
func (one *row) self() int64 {
	if one.call != nil {
		return one.duration
	}
	return timeline.SelfTimeNS(one.node)
}

// numberDevices numbers the devices in natural order.
func (r *rows) numberDevices() {
	for i := range r.list {
		if n := r.list[i].node; n.IsOp() {
			r.devices.ID(n.Device())
		}
	}
	sorted := slices.Clone(r.devices.Values)
	slices.SortFunc(sorted, device.Key.Compare)
	r.devices = symbols.Table[device.Key]{}
	for _, k := range sorted {
		r.devices.ID(k)
	}
}

// setRequest assigns the operations of q, and the spans between them and its root, to request number i.
func (r *rows) setRequest(q *requests.Request, i int) {
	r.request[q.Root.Index()] = int32(i)
	for n := range q.Operations() {
		for !n.IsZero() && r.request[n.Index()] == none {
			r.request[n.Index()] = int32(i)
			n = n.Parent()
		}
	}
}

// errorCode returns 0 for a node without failure, else the number of its error text plus one.
func (r *rows) errorCode(n trace.Node) uint64 {
	text, failed := n.Failure()
	if !failed {
		return 0
	}
	return uint64(r.errors.Within(maxTexts, text, key.Other)) + 1
}

func (r *rows) rowOf(n trace.Node) int32 {
	if n.IsZero() {
		return none
	}
	return r.index[n.Index()]
}

// launcherOf returns the row of the operator that launched row i. It is none if the operator is unknown or above the
// row.
func (r *rows) launcherOf(i int) int32 {
	host := r.list[i].node.Launcher()
	n := r.list[i].node.Parent()
	for steps := 0; !host.IsZero() && !n.IsZero() && steps < maxSteps; steps++ {
		if n == host {
			return none
		}
		n = n.Parent()
	}
	return r.rowOf(host)
}

// launcherName returns the name of the launcher of a device operation in row i, if the launcher has no row and no
// device operation is above; else "".
func (r *rows) launcherName(i int) string {
	one := &r.list[i]
	n := one.node
	name := n.Forest.LauncherName(n.Row)
	if name == "" || n.IsDuplicate() || !n.Launcher().IsZero() || !n.Forest.IsDeviceSide(n.Row) {
		return ""
	}
	for n, steps := n.Parent(), 0; !n.IsZero() && steps < maxSteps; n, steps = n.Parent(), steps+1 {
		if n.Forest.IsDeviceSide(n.Row) {
			return ""
		}
	}
	return name
}

const maxSteps = 64

const maxLinks = 20_000

// links returns the source and target rows of links, and the number of all links.
func (r *rows) links() (pairs [][2]int32, total int) {
	pairs = [][2]int32{}
	for i := range r.list {
		if r.list[i].call != nil {
			continue
		}
		for to := range r.list[i].node.Links() {
			at := r.index[to.Index()]
			if at == none {
				continue
			}
			if total++; total <= maxLinks {
				pairs = append(pairs, [2]int32{int32(i), at})
			}
		}
	}
	return pairs, total
}
