package operators

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/op"
)

// Operators says which operators on the host the time of devices went to.
type Operators struct {
	// Rows has a row per name of an operator and per CUDA graph, the largest device self time first. Their device self
	// times and that of Unattributed add up to the sum of all operations of devices.
	Rows []Row `json:"rows"`
	// Unattributed are the operations of devices of which no operator is known.
	Unattributed Unattributed `json:"unattributed"`
}

// Unattributed counts operations and sums up their time.
type Unattributed struct {
	Count int64 `json:"count"`
	SumNS int64 `json:"sum_ns"`
}

// Row is about the operators of one name. All times are nanoseconds.
type Row struct {
	Operator string `json:"operator"`
	// Calls is how many of them are in the input; 0 where operations name one that is not. A CUDA graph
	// has as many as there are launches of it.
	Calls int64 `json:"calls"`
	// DeviceSelfNS is the time of the operations of devices that they launched themselves, Kernels the number of these.
	// DeviceTotalNS is with those of the operators inside them, each once where an operator calls itself.
	DeviceSelfNS  int64 `json:"device_self_ns"`
	DeviceTotalNS int64 `json:"device_total_ns"`
	// HostSelfNS is without the time of the operators inside them, HostTotalNS with it, likewise; unknown without calls.
	HostSelfNS  op.Int `json:"host_self_ns"`
	HostTotalNS op.Int `json:"host_total_ns"`
	Kernels     int64  `json:"kernels"`
	// MemoryBytes is the memory of the operations that they launched themselves, and FLOPs their own
	// or, where that is not known, those of these operations; unknown where nothing states any.
	MemoryBytes op.Int `json:"memory_bytes"`
	FLOPs       op.Int `json:"flops"`
	// DeviceIdleNS is how much of HostTotalNS nothing ran on any device; unknown without calls.
	DeviceIdleNS op.Int `json:"device_idle_ns"`
	// Roofline compares the operations that the calls launched themselves with what their devices can do at best,
	// by the shapes of the calls: Count is of calls, and SumNS part of DeviceSelfNS. Nil without peaks.
	Roofline *work.Roofline `json:"roofline,omitempty"`
	// Below are the operations of a CUDA graph, those with the largest sums and one named [key.Other] for
	// what is beyond them: together they are Kernels and DeviceSelfNS. Nil for an operator.
	Below []Below `json:"below,omitempty"`
}

// Below sums up the operations of one name that a CUDA graph launched.
type Below struct {
	Operation string `json:"operation"`
	// CapturedIn is the range on the host in which their nodes were captured, "" where that is not known.
	CapturedIn string `json:"captured_in,omitempty"`
	Count      int64  `json:"count"`
	SumNS      int64  `json:"sum_ns"`
}

type sums struct {
	calls, kernels                   int64
	self, total, hostSelf, hostTotal wide.Sum
	bytes, flops, kernelFLOPs, idle  wide.Sum
	knowsBytes                       bool
	until                            int32 // the place behind the outermost call that was met last
	bounds                           work.Bounds
	below                            map[node]*belowSums // of a CUDA graph, nil for an operator
	launches                         map[launch]struct{}
}

type node struct{ operation, capturedIn string }

type belowSums struct {
	count int64
	sum   wide.Sum
}

// launch tells the launches of a process apart.
type launch struct {
	trace, process int32
	at             int64
}

// Find returns the table of operators, nil where none is known. most bounds its rows; those beyond
// it are one with the name [key.Other].
func Find(f *trace.Forest, most int) *Operators {
	f.Build()
	if !f.HasLaunchers() && !f.HasGraphs() {
		return nil
	}
	rows := make(map[string]*sums)
	row := func(name string) *sums { return order.At(rows, name) }
	var unattributed wide.Sum
	all := &Operators{Rows: []Row{}}
	below := make([]wide.Sum, f.Len()) // device time launched at or below each row of the tree
	processes := f.Processes()
	for r := range f.Rows() {
		if !f.IsDeviceSide(r) {
			continue
		}
		name := f.LaunchName(r)
		if name == "" {
			all.Unattributed.Count++
			unattributed.Add(f.Duration(r))
			continue
		}
		s := row(name)
		s.addKernel(f, r)
		host := f.Launcher(r)
		if host != trace.NoRow {
			below[host].Add(f.Duration(r))
		}
		if s.addGraph(f, r, processes) || host == trace.NoRow {
			s.total.Add(f.Duration(r))
		}
	}
	all.Unattributed.SumNS = unattributed.Int64()
	addHosts(f, below, processes, row)
	for name, s := range rows {
		all.Rows = append(all.Rows, s.row(name))
	}
	slices.SortFunc(all.Rows, Row.compare)
	if len(all.Rows) > most {
		all.Rows = append(all.Rows[:most], others(all.Rows[most:]))
	}
	return all
}

func (s *sums) addKernel(f *trace.Forest, r int32) {
	s.kernels++
	s.self.Add(f.Duration(r))
	if f.Has(r, trace.FlagMemory) {
		s.bytes.Add(f.Memory(r))
		s.knowsBytes = true
	}
	s.kernelFLOPs.Add(f.Flops(r))
}

// addGraph adds the operation in row r to a CUDA graph, and reports whether one launched it.
func (s *sums) addGraph(f *trace.Forest, r int32, processes []int32) bool {
	name, g := f.Graph(r)
	if name == "" {
		return false
	}
	if s.below == nil {
		s.below = make(map[node]*belowSums)
		s.launches = make(map[launch]struct{})
	}
	b := order.At(s.below, node{f.RowName(r), g.Node})
	b.count++
	b.sum.Add(f.Duration(r))
	if f.Has(r, trace.FlagLaunch) {
		s.launches[launch{f.Trace(r), processes[f.Lane(r)], f.Launch(r)}] = struct{}{}
	}
	return true
}

// maxBelow bounds the operations that are listed of a CUDA graph.
const maxBelow = 10

// list returns the operations of a CUDA graph, the largest sums first.
func (s *sums) list() (all []Below) {
	for n, b := range s.below {
		all = append(all, Below{n.operation, n.capturedIn, b.count, b.sum.Int64()})
	}
	slices.SortFunc(all, func(a, b Below) int {
		return cmp.Or(cmp.Compare(b.SumNS, a.SumNS), strings.Compare(a.Operation, b.Operation), strings.Compare(a.CapturedIn, b.CapturedIn))
	})
	if len(all) > maxBelow {
		rest := Below{Operation: key.Other}
		for _, b := range all[maxBelow:] {
			rest.Count += b.Count
			rest.SumNS = wide.AddSaturating(rest.SumNS, b.SumNS)
		}
		all = append(all[:maxBelow], rest)
	}
	return all
}

// addHosts adds the operators of the host, given the time that was launched at each. An operator
// inside one of its name is part of the times of that.
func addHosts(f *trace.Forest, below []wide.Sum, processes []int32, row func(string) *sums) {
	nesting := f.Nesting()
	for _, r := range nesting.Rows() {
		if below[r] != (wide.Sum{}) && f.CountsInSums(r) {
			w := f.Work(r)
			row(f.RowName(r)).bounds.Add(&w, below[r].Int64())
		}
	}
	for _, r := range slices.Backward(nesting.Rows()) {
		if p := f.Tree.Parent[r]; p != trace.NoRow {
			below[p].Merge(below[r])
		}
	}
	busy := busyOf(f, processes)
	var descent timeline.Descent
	for place, r := range nesting.Rows() {
		if f.Flags(r)&(trace.FlagOp|trace.FlagHost) != trace.FlagOp|trace.FlagHost {
			continue
		}
		s := row(f.RowName(r))
		s.calls++
		s.hostSelf.Add(timeline.SelfTime(f, r, &descent))
		s.flops.Add(f.Flops(r))
		if int32(place) < s.until {
			continue
		}
		s.until = int32(place) + nesting.Size[r]
		s.total.Merge(below[r])
		s.hostTotal.Add(f.Duration(r))
		s.idle.Add(f.Duration(r))
		if f.Has(r, trace.FlagStart) {
			s.idle.Sub(busy[processes[f.Lane(r)]].Within(f.Start(r), f.End(r)))
		}
	}
}

// busyOf returns when any device of a process ran something, by process as
// [trace.Forest.Processes] numbers them.
func busyOf(f *trace.Forest, processes []int32) map[int32]timeline.Times {
	all := make(map[int32]timeline.Times)
	for _, r := range f.Devices.ByStart {
		times := all[processes[f.Lane(r)]]
		times.Add(f.Start(r), f.End(r))
		all[processes[f.Lane(r)]] = times
	}
	return all
}

func (s *sums) row(name string) Row {
	r := Row{
		Operator: name, Calls: s.calls, DeviceSelfNS: s.self.Int64(), DeviceTotalNS: s.total.Int64(), Kernels: s.kernels,
	}
	if s.calls > 0 {
		r.HostSelfNS = op.Known(s.hostSelf.Int64())
		r.HostTotalNS = op.Known(s.hostTotal.Int64())
		r.DeviceIdleNS = op.Known(s.idle.Int64())
	}
	r.Roofline = s.bounds.Roofline()
	r.Calls += int64(len(s.launches))
	r.Below = s.list()
	if s.knowsBytes {
		r.MemoryBytes = op.Known(s.bytes.Int64())
	}
	if flops := cmp.Or(s.flops, s.kernelFLOPs); flops != (wide.Sum{}) {
		r.FLOPs = op.Known(flops.Int64())
	}
	return r
}

// others returns the row of rows beyond a limit. Its total is that of their own times alone, for
// they may lie inside each other.
func others(rows []Row) Row {
	sum := &sums{}
	for i := range rows {
		r := &rows[i]
		sum.calls += r.Calls
		sum.kernels += r.Kernels
		sum.self.Add(r.DeviceSelfNS)
		sum.hostSelf.Add(r.HostSelfNS.V)
	}
	sum.total = sum.self
	sum.hostTotal = sum.hostSelf
	row := sum.row(key.Other)
	row.DeviceIdleNS = op.Int{}
	return row
}

func (r Row) compare(o Row) int {
	return cmp.Or(cmp.Compare(o.DeviceSelfNS, r.DeviceSelfNS), cmp.Compare(o.HostSelfNS.V, r.HostSelfNS.V),
		strings.Compare(r.Operator, o.Operator))
}
