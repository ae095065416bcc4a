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

// Operators attributes device time to operators on the host.
type Operators struct {
	// Rows has a row per operator name and per CUDA graph, largest device self time first. Its device self times and
	// the time of Unattributed add up to the sum over all device operations.
	Rows []Row `json:"rows"`
	// Unattributed sums up device operations without a known operator.
	Unattributed Unattributed `json:"unattributed"`
}

// Unattributed counts operations and sums up their durations.
type Unattributed struct {
	Count int64 `json:"count"`
	SumNS int64 `json:"sum_ns"`
}

// Row describes the operators of one name. All times are nanoseconds.
type Row struct {
	Operator string `json:"operator"`
	// Calls is the number of calls in the input, 0 for an operator only named by operations. For a CUDA graph it is
	// the number of launches.
	Calls int64 `json:"calls"`
	// DeviceSelfNS is the time of the device operations launched by the calls themselves, Kernels their number.
	// DeviceTotalNS includes operators inside the calls. Recursive calls count once.
	DeviceSelfNS  int64 `json:"device_self_ns"`
	DeviceTotalNS int64 `json:"device_total_ns"`
	// HostSelfNS excludes operators inside the calls, HostTotalNS includes them; unknown without calls.
	HostSelfNS  op.Int `json:"host_self_ns"`
	HostTotalNS op.Int `json:"host_total_ns"`
	Kernels     int64  `json:"kernels"`
	// MemoryBytes is the memory of the launched operations. FLOPs are the FLOPs of the calls, or else of the launched
	// operations. Both are unknown if not stated.
	MemoryBytes op.Int `json:"memory_bytes"`
	FLOPs       op.Int `json:"flops"`
	// DeviceIdleNS is the part of HostTotalNS with all devices idle; unknown without calls.
	DeviceIdleNS op.Int `json:"device_idle_ns"`
	// Roofline compares the launched operations with the peaks of their devices, by the shapes of the calls. Count
	// counts calls, and SumNS is a part of DeviceSelfNS. Nil without peaks.
	Roofline *work.Roofline `json:"roofline,omitempty"`
	// Below sums up the operations of a CUDA graph: the largest, and one row [key.Other] for the rest. They add up
	// to Kernels and DeviceSelfNS. Nil for an operator.
	Below []Below `json:"below,omitempty"`
}

// Below sums up the operations of one name launched by a CUDA graph.
type Below struct {
	Operation string `json:"operation"`
	// CapturedIn is the host range that captured their nodes, "" if unknown.
	CapturedIn string `json:"captured_in,omitempty"`
	Count      int64  `json:"count"`
	SumNS      int64  `json:"sum_ns"`
}

type sums struct {
	calls, kernels                   int64
	self, total, hostSelf, hostTotal wide.Sum
	bytes, flops, kernelFLOPs, idle  wide.Sum
	knowsBytes                       bool
	until                            int32 // place after the latest outermost call
	bounds                           work.Bounds
	below                            map[node]*belowSums // of a CUDA graph, nil for an operator
	launches                         map[launch]struct{}
}

type node struct{ operation, capturedIn string }

type belowSums struct {
	count int64
	sum   wide.Sum
}

type launch struct {
	trace, process int32
	at             int64
}

// Find returns the operators in f, nil if none are known. Rows beyond most share the name [key.Other].
func Find(f *trace.Forest, most int) *Operators {
	f.Build()
	if !f.HasLaunchers() && !f.HasGraphs() {
		return nil
	}
	rows := make(map[string]*sums)
	row := func(name string) *sums { return order.At(rows, name) }
	var unattributed wide.Sum
	all := &Operators{Rows: []Row{}}
	below := make([]wide.Sum, f.Len()) // device time launched at or below each row
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

// addGraph adds row r to its CUDA graph. It returns false if no graph launched it.
func (s *sums) addGraph(f *trace.Forest, r int32, processes []int32) bool {
	name, g := f.Graph(r)
	if name == "" || name != f.LaunchName(r) {
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

const maxBelow = 10

func (s *sums) list() (all []Below) {
	for n, b := range s.below {
		all = append(all, Below{n.operation, n.capturedIn, b.count, b.sum.Int64()})
	}
	slices.SortFunc(all, func(a, b Below) int {
		return cmp.Or(
			cmp.Compare(b.SumNS, a.SumNS), strings.Compare(a.Operation, b.Operation),
			strings.Compare(a.CapturedIn, b.CapturedIn),
		)
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

// addHosts adds the host operators, given the time launched at each row. A recursive call is a part of the outer call.
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

// busyOf returns the times of any device operation, by process as numbered by [trace.Forest.Processes].
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
		Operator: name, Calls: s.calls, Kernels: s.kernels,
		DeviceSelfNS: s.self.Int64(), DeviceTotalNS: s.total.Int64(),
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

// others returns the common row of rows beyond the limit. Its totals are sums of self times because rows may nest.
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
