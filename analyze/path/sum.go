package path

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// The kinds of time on a critical path outside device operations.
const (
	KindHost = "host" // in spans that are no operations, and in operations seen from the host
	KindIdle = "idle" // while no recorded span was running
)

// Summary sums up critical paths.
type Summary struct {
	Paths      int64 `json:"paths"`
	DurationNS int64 `json:"duration_ns"`
	// BoundBy divides DurationNS by the kind of work on the paths.
	BoundBy BoundBy `json:"bound_by"`
	// Edges counts the reasons for the order on the paths.
	Edges Edges `json:"edges"`
}

// BoundBy divides the duration of critical paths by the kind of work. The figures add up to the duration.
type BoundBy struct {
	ComputeNS       int64 `json:"compute_ns"`
	CommunicationNS int64 `json:"communication_ns"`
	MemoryNS        int64 `json:"memory_ns"`
	OtherNS         int64 `json:"other_ns"`
	HostNS          int64 `json:"host_ns"` // as KindHost, and IdleNS as KindIdle
	IdleNS          int64 `json:"idle_ns"`
}

// Share is the part of critical paths in one operation.
type Share struct {
	// Operation is the name of the operation or span, "" while idle.
	Operation string `json:"operation"`
	// Kind is the kind of the operation, KindHost or KindIdle.
	Kind string `json:"kind"`
	// Key is the zero Key outside operations.
	device.Key
	TimeNS int64 `json:"ns"`
	// Share is TimeNS as a fraction of the paths' duration.
	Share float64 `json:"share"`
	// Segments counts the segments of the paths in this row.
	Segments int64 `json:"segments"`
	// DragNS is the time saved in all traces if the operation took no time, known for the largest rows of a report.
	DragNS op.Int `json:"drag_ns,omitzero"`
}

// sumAll sums up the critical paths of all traces.
func sumAll(f *trace.Forest) *Sum {
	f.Build()
	sum := NewSum(f)
	walks := NewWalks(f)
	for w, roots := range traceWindows(f) {
		walks.AddPath(sum, w, roots)
	}
	return sum
}

// Sum sums up the segments of critical paths.
type Sum struct {
	forest   *trace.Forest
	paths    int64
	duration wide.Sum
	Shares   map[shareKey]*shareSum
	idle     *shareSum // of Shares, nil before any
	edges    Edges
}

// shareKey identifies a row of the shares by the forest's numbers.
type shareKey struct {
	name, device int32
	kind         op.Kind
	what         segmentKind
}

// segmentKind is the kind of the segment's node.
type segmentKind uint8

const (
	segmentOp segmentKind = iota
	segmentHostOp
	segmentSpan
	segmentIdle
)

type shareSum struct {
	Time     wide.Sum
	Segments int64
	// Longest is the longest segment, the first in time among equals.
	Longest Window
}

// longer reports whether s is longer than o, or equally long and earlier.
func (s *Window) longer(o *Window) bool {
	return cmp.Or(cmp.Compare(s.To-s.From, o.To-o.From), cmp.Compare(o.From, s.From)) > 0
}

func (s *shareSum) merge(o *shareSum) {
	if s.Segments == 0 || o.Segments > 0 && o.Longest.longer(&s.Longest) {
		s.Longest = o.Longest
	}
	s.Time.Merge(o.Time)
	s.Segments += o.Segments
}

// NewSum returns an empty Sum for paths of forest.
func NewSum(forest *trace.Forest) *Sum {
	return &Sum{forest: forest, Shares: make(map[shareKey]*shareSum)}
}

// add adds the segment [from, to) in row, trace.NoRow for idle time.
func (s *Sum) add(row int32, from, to int64) {
	forest := s.forest
	key := shareKey{what: segmentIdle}
	switch {
	case row == trace.NoRow:
	case !forest.Has(row, trace.FlagOp):
		key = shareKey{name: forest.Name(row), what: segmentSpan}
	case forest.Has(row, trace.FlagHost):
		key = shareKey{name: forest.Name(row), device: forest.Device(row), what: segmentHostOp}
	default:
		key = shareKey{name: forest.Name(row), device: forest.Device(row), kind: forest.Kind(row), what: segmentOp}
	}
	share := s.idle
	if row != trace.NoRow || share == nil {
		share = order.At(s.Shares, key)
	}
	if row == trace.NoRow {
		s.idle = share
	}
	segment := Window{row, from, to}
	if share.Segments == 0 || segment.longer(&share.Longest) {
		share.Longest = segment
	}
	share.Time.Add(to - from)
	share.Segments++
}

// Merge adds the paths of o.
func (s *Sum) Merge(o *Sum) {
	s.paths += o.paths
	s.duration.Merge(o.duration)
	for key, share := range o.Shares {
		order.At(s.Shares, key).merge(share)
	}
	s.edges.add(o.edges)
}

func (e *Edges) add(o Edges) {
	e.Tree += o.Tree
	e.Links += o.Links
}

// Summary returns the sums over all paths.
func (s *Sum) Summary() Summary {
	return Summary{Paths: s.paths, DurationNS: s.duration.Int64(), BoundBy: s.BoundBy(), Edges: s.edges}
}

// List returns a row per operation, kind and device, the largest first.
func (s *Sum) List() []Share {
	list := make([]Share, 0, len(s.Shares))
	for row, sum := range s.Rows() {
		row.TimeNS = sum.Time.Int64()
		row.Segments = sum.Segments
		if d := s.duration.Float64(); d > 0 {
			row.Share = sum.Time.Float64() / d
		}
		list = append(list, row)
	}
	slices.SortFunc(list, comparePathShares)
	return list
}

// Rows returns the sums by row.
func (s *Sum) Rows() map[Share]*shareSum {
	merged := make(map[Share]*shareSum, len(s.Shares)) // services share a row
	for key, sum := range s.Shares {
		order.At(merged, s.describe(key)).merge(sum)
	}
	return merged
}

// describe returns the row of key without its sums.
func (s *Sum) describe(key shareKey) Share {
	dict := &s.forest.Names
	switch key.what {
	case segmentIdle:
		return Share{Kind: KindIdle}
	case segmentSpan:
		return Share{Operation: dict.Spans.Values[key.name].Name, Kind: KindHost}
	}
	row := Share{
		Operation: dict.Operations.Values[key.name],
		Kind:      KindHost,
		Key:       s.forest.Devices.Keys[key.device],
	}
	if key.what == segmentOp {
		row.Kind = key.kind.String()
	}
	return row
}

// BoundBy divides the paths of s by the kind of work.
func (s *Sum) BoundBy() BoundBy {
	var host, idle wide.Sum
	var classes [timeline.NumClasses]wide.Sum
	for key, sum := range s.Shares {
		switch key.what {
		case segmentIdle:
			idle.Merge(sum.Time)
		case segmentOp:
			classes[timeline.ClassOf(key.kind)].Merge(sum.Time)
		default:
			host.Merge(sum.Time)
		}
	}
	return BoundByOf(&classes, host, idle)
}

// BoundByOf converts sums by class, host and idle time.
func BoundByOf(classes *[timeline.NumClasses]wide.Sum, host, idle wide.Sum) BoundBy {
	return BoundBy{
		ComputeNS:       classes[timeline.ClassCompute].Int64(),
		CommunicationNS: classes[timeline.ClassCommunication].Int64(),
		MemoryNS:        classes[timeline.ClassMemory].Int64(),
		OtherNS:         classes[timeline.ClassOther].Int64(),
		HostNS:          host.Int64(),
		IdleNS:          idle.Int64(),
	}
}

func comparePathShares(a, b Share) int {
	return cmp.Or(
		cmp.Compare(b.TimeNS, a.TimeNS),
		strings.Compare(a.Operation, b.Operation),
		a.Key.Compare(b.Key),
		strings.Compare(a.Kind, b.Kind),
	)
}

// Totals sums up the critical paths of all traces.
type Totals struct {
	Summary
	// NoIDs counts operations and spans without a trace id, NoStart traces without a path because no root has a start.
	NoIDs   int64 `json:"no_ids"`
	NoStart int64 `json:"no_start"`
}

// pathTotals returns the sums of s, the paths of all traces, and counts spans and traces without a path.
func pathTotals(s *Sum) *Totals {
	f := s.forest
	totals := &Totals{Summary: s.Summary()}
	for r := range f.Rows() {
		if !isTraced(f, r) && !f.Has(r, trace.FlagRepeat) {
			totals.NoIDs++
		}
	}
	for roots := range traceRoots(f) {
		if isTraced(f, roots[0]) && !f.Has(roots[0], trace.FlagStart) { // roots with a start come first
			totals.NoStart++
		}
	}
	return totals
}
