package analyze

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// The kinds of time on a critical path that is not an operation's on a device.
const (
	// KindHost is the time of spans that are no operations and of operations
	// seen from the host.
	KindHost = "host"
	// KindIdle is the time in which nothing that was read was running.
	KindIdle = "idle"
)

// PathSummary sums up critical paths.
type PathSummary struct {
	// Paths is how many critical paths were summed up, Duration the sum of
	// their durations in nanoseconds.
	Paths      int64 `json:"paths"`
	DurationNS int64 `json:"duration_ns"`
	// BoundBy divides DurationNS by the kind of work on the paths.
	BoundBy BoundBy `json:"bound_by"`
	// Shares has a row per operation, kind and device, the largest first.
	Shares []PathShare `json:"shares"`
	Edges  PathEdges   `json:"edges"`
}

// BoundBy divides the duration of critical paths by the kind of work on them. The
// figures add up to the duration.
type BoundBy struct {
	ComputeNS       int64 `json:"compute_ns"`
	CommunicationNS int64 `json:"communication_ns"`
	MemoryNS        int64 `json:"memory_ns"`
	// Other is operations of other kinds.
	OtherNS int64 `json:"other_ns"`
	// Host is spans that are no operations, and operations seen from the host.
	HostNS int64 `json:"host_ns"`
	// Idle is when nothing that was read was running.
	IdleNS int64 `json:"idle_ns"`
}

// PathShare is the part of critical paths that lies in one operation.
type PathShare struct {
	// Operation is the name of the operation or span; "" while idle.
	Operation string `json:"operation"`
	// Kind is the kind of the operation, KindHost or KindIdle.
	Kind string `json:"kind"`
	// DeviceKey is the zero DeviceKey outside operations.
	DeviceKey
	// Time is in nanoseconds.
	TimeNS int64 `json:"ns"`
	// Share is Time as a part of the paths' duration.
	Share float64 `json:"share"`
	// Segments is how many times the path came by.
	Segments int64 `json:"segments"`
	// DragNS is how much shorter the traces would be, in sum, if the operation took no
	// time on the device; known for the largest rows of a report.
	DragNS op.Int `json:"drag_ns,omitzero"`
}

// criticalPathSummary sums up the critical paths of all traces.
func (f *Forest) criticalPathSummary() *PathSummary { return f.criticalPathSum().summary() }

// criticalPathSum sums up the critical paths of all traces.
func (f *Forest) criticalPathSum() *pathSum {
	f.build()
	sum := newPathSum(f)
	sum.recent = make([]recentShare, 512)
	walks := newPathWalks(f)
	for w, roots := range f.traceWindows() {
		walks.addPath(sum, w, roots)
	}
	return sum
}

// pathSum sums up segments.
type pathSum struct {
	forest   *Forest
	paths    int64
	duration wide.Sum
	shares   map[shareKey]*shareSum
	edges    PathEdges
	recent   []recentShare // by the name and the device; may be empty
}

// recentShare is a share that was used lately; sum is nil for none.
type recentShare struct {
	key shareKey
	sum *shareSum
}

// shareKey identifies a row of the shares by the numbers of a dictionary.
type shareKey struct {
	name, device int32
	kind         op.Kind
	what         segmentKind
}

// segmentKind is the kind of node that a segment lies in.
type segmentKind uint8

const (
	segmentOp segmentKind = iota
	segmentHostOp
	segmentSpan
	segmentIdle
)

type shareSum struct {
	time     wide.Sum
	segments int64
	// longest is the longest of the segments, the first of them in time where several are.
	longest rowSegment
}

// rowSegment is a segment of a path by its row.
type rowSegment struct {
	row      int32
	from, to int64
}

// longer reports whether s is longer than o, or as long and earlier.
func (s *rowSegment) longer(o *rowSegment) bool {
	return cmp.Or(cmp.Compare(s.to-s.from, o.to-o.from), cmp.Compare(o.from, s.from)) > 0
}

// merge adds the segments of o.
func (s *shareSum) merge(o *shareSum) {
	if s.segments == 0 || o.segments > 0 && o.longest.longer(&s.longest) {
		s.longest = o.longest
	}
	s.time.Merge(o.time)
	s.segments += o.segments
}

func newPathSum(forest *Forest) *pathSum {
	return &pathSum{forest: forest, shares: make(map[shareKey]*shareSum)}
}

// begin begins the path of something that takes duration.
func (s *pathSum) begin(duration int64) {
	s.paths++
	s.duration.Add(duration)
}

// add adds the segment [from, to) in row, noRow for idle time.
func (s *pathSum) add(row int32, from, to int64) {
	forest := s.forest
	key := shareKey{what: segmentIdle}
	switch {
	case row == noRow:
	case !forest.has(row, flagOp):
		key = shareKey{name: forest.name(row), what: segmentSpan}
	case forest.has(row, flagHost):
		key = shareKey{name: forest.name(row), device: forest.device(row), what: segmentHostOp}
	default:
		key = shareKey{name: forest.name(row), device: forest.device(row), kind: forest.kind(row), what: segmentOp}
	}
	share := s.share(key)
	segment := rowSegment{row, from, to}
	if share.segments == 0 || segment.longer(&share.longest) {
		share.longest = segment
	}
	share.time.Add(to - from)
	share.segments++
}

// share returns the sum of key.
func (s *pathSum) share(key shareKey) *shareSum {
	recent := new(recentShare)
	if len(s.recent) > 0 {
		recent = &s.recent[uint32(key.name+61*key.device)%uint32(len(s.recent))]
	}
	if recent.sum != nil && recent.key == key {
		return recent.sum
	}
	sum := s.shares[key]
	if sum == nil {
		sum = new(shareSum)
		s.shares[key] = sum
	}
	*recent = recentShare{key, sum}
	return sum
}

// merge adds the segments of o.
func (s *pathSum) merge(o *pathSum) {
	for key, share := range o.shares {
		s.share(key).merge(share)
	}
	s.edges.Tree += o.edges.Tree
	s.edges.Links += o.edges.Links
}

// summary returns the sums in their final order.
func (s *pathSum) summary() *PathSummary {
	total := &PathSummary{
		Paths:      s.paths,
		DurationNS: s.duration.Int64(),
		Shares:     make([]PathShare, 0, len(s.shares)),
		Edges:      s.edges,
	}
	for row, sum := range s.rows() {
		row.TimeNS, row.Segments = sum.time.Int64(), sum.segments
		if d := s.duration.Float64(); d > 0 {
			row.Share = sum.time.Float64() / d
		}
		total.Shares = append(total.Shares, row)
	}
	slices.SortFunc(total.Shares, comparePathShares)
	total.BoundBy = s.boundBy()
	return total
}

// rows returns the sums by their rows.
func (s *pathSum) rows() map[PathShare]*shareSum {
	merged := make(map[PathShare]*shareSum, len(s.shares)) // span names that differ in service only
	for key, sum := range s.shares {
		row := s.describe(key)
		if merged[row] == nil {
			merged[row] = new(shareSum)
		}
		merged[row].merge(sum)
	}
	return merged
}

// describe returns the row of key without its sums.
func (s *pathSum) describe(key shareKey) PathShare {
	dict := &s.forest.dict
	switch key.what {
	case segmentIdle:
		return PathShare{Kind: KindIdle}
	case segmentSpan:
		return PathShare{Operation: dict.spans.Values[key.name].name, Kind: KindHost}
	}
	row := PathShare{
		Operation: dict.operations.Values[key.name],
		Kind:      KindHost,
		DeviceKey: s.forest.onDevice.keys[key.device],
	}
	if key.what == segmentOp {
		row.Kind = key.kind.String()
	}
	return row
}

func (s *pathSum) boundBy() BoundBy {
	var host, idle wide.Sum
	var classes [numClasses]wide.Sum
	for key, sum := range s.shares {
		switch key.what {
		case segmentIdle:
			idle.Merge(sum.time)
		case segmentOp:
			classes[classOf(key.kind)].Merge(sum.time)
		default:
			host.Merge(sum.time)
		}
	}
	return BoundBy{
		ComputeNS:       classes[classCompute].Int64(),
		CommunicationNS: classes[classCommunication].Int64(),
		MemoryNS:        classes[classMemory].Int64(),
		OtherNS:         classes[classOther].Int64(),
		HostNS:          host.Int64(),
		IdleNS:          idle.Int64(),
	}
}

// comparePathShares puts the largest first and then goes by name, device and
// kind.
func comparePathShares(a, b PathShare) int {
	return cmp.Or(
		cmp.Compare(b.TimeNS, a.TimeNS),
		strings.Compare(a.Operation, b.Operation),
		a.DeviceKey.Compare(b.DeviceKey),
		strings.Compare(a.Kind, b.Kind),
	)
}

// PathTotals sums up the critical paths.
type PathTotals struct {
	// Paths is how many there are, DurationNS the sum of their durations.
	Paths      int64 `json:"paths"`
	DurationNS int64 `json:"duration_ns"`
	// BoundBy divides DurationNS by the kind of work on the paths.
	BoundBy BoundBy `json:"bound_by"`
	// Edges says where the order on the paths was taken from.
	Edges PathEdges `json:"edges"`
	// NoIDs is the number of operations and spans without a trace id, NoStart the
	// number of traces whose roots have no start: they have no path.
	NoIDs   int64 `json:"no_ids"`
	NoStart int64 `json:"no_start"`
}

// pathTotals returns the sums of s, the summary of all traces, and counts what has
// no path.
func (f *Forest) pathTotals(s *PathSummary) *PathTotals {
	totals := &PathTotals{Paths: s.Paths, DurationNS: s.DurationNS, BoundBy: s.BoundBy, Edges: s.Edges}
	for r := range f.rowCount() {
		if !f.isTraced(r) && !f.has(r, flagRepeat) {
			totals.NoIDs++
		}
	}
	for roots := range f.traceRoots() {
		if f.isTraced(roots[0]) && !f.has(roots[0], flagStart) { // known starts come first
			totals.NoStart++
		}
	}
	return totals
}
