package sequences

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/repeats"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

// Sequences are repeated sequences of short operations, candidates for one fused operation or a graph.
type Sequences struct {
	// ShortNS bounds short operations and gaps within a sequence, MaxOperations the length of a sequence.
	ShortNS       int64 `json:"short_ns"`
	MaxOperations int64 `json:"max_operations"`
	// Runs is the number of runs of two or more short operations, RunOperations the number of their operations, and
	// LeftOut the number not examined, because too many runs differ.
	Runs          int64 `json:"runs"`
	RunOperations int64 `json:"run_operations"`
	LeftOut       int64 `json:"left_out"`
	// Count is the number of sequences found, Rows has the ones with the most time, gaps included.
	Count int64      `json:"count"`
	Rows  []Sequence `json:"rows"`
}

// Sequence is a sequence of short operations below one parent, on one stream.
type Sequence struct {
	Operations []string `json:"operations"`
	// Count is the number of occurrences of one or more rounds, Rounds the number of rounds in all.
	Count  int64 `json:"count"`
	Rounds int64 `json:"rounds"`
	// SumNS is the time of its operations, GapNS the time between them.
	SumNS int64 `json:"sum_ns"`
	GapNS int64 `json:"gap_ns"`
	// Share is SumNS as a fraction of the total, nil if that is 0, GapShare GapNS as a fraction of both.
	Share    op.Float `json:"share"`
	GapShare op.Float `json:"gap_share"`
	// Streams has a row per stream, by device and stream.
	Streams []Stream `json:"streams"`
}

// Stream counts a sequence on a stream.
type Stream struct {
	device.Key
	// Stream is nil for operations without a stream.
	Stream op.Int `json:"stream"`
	Count  int64  `json:"count"`
}

const shortOperation = 100 * time.Microsecond

const maxRunOperations = 1 << 18 // bounds the operations of different runs

// Find returns the repeated sequences and describes top of them. whole is the sum of all durations.
func Find(f *trace.Forest, top int, whole float64) *Sequences {
	f.Build()
	runs := shortRuns{forest: f, tops: hostTops(f), index: make(map[string]int32)}
	for _, rows := range f.Devices.All() {
		runs.addDevice(rows)
	}
	s := &Sequences{
		ShortNS: int64(shortOperation), MaxOperations: repeats.MaxLength,
		Runs: runs.count, RunOperations: runs.operations, LeftOut: runs.leftOut, Rows: []Sequence{},
	}
	texts := make([][]int32, len(runs.list))
	weights := make([]int64, len(runs.list))
	for i := range runs.list {
		texts[i] = runs.list[i].names
		weights[i] = runs.list[i].count
	}
	found := repeats.Find(texts, weights)
	s.Count = int64(len(found))
	for i := range found {
		s.Rows = append(s.Rows, runs.sequence(&found[i], whole))
	}
	slices.SortFunc(s.Rows, Sequence.compare)
	s.Rows = s.Rows[:min(len(s.Rows), max(0, top))]
	for i := range s.Rows {
		slices.SortFunc(s.Rows[i].Streams, func(a, b Stream) int {
			return cmp.Or(a.Key.Compare(b.Key), order.Ints(a.Stream, b.Stream))
		})
	}
	return s
}

// shortRuns has the distinct runs: consecutive short operations below one parent, on one stream.
type shortRuns struct {
	forest                                *trace.Forest
	tops                                  []int32 // of each row, see hostTops
	list                                  []shortRun
	index                                 map[string]int32 // by names
	key                                   []byte
	count, operations, different, leftOut int64
	parents, grouped                      []int32 // of the rows of a device, and those by parent
	names                                 []int32 // of the current run
	durations, gapTimes                   []int64
}

type shortRun struct {
	names []int32
	count int64
	// durations and gaps are sums over all occurrences. A gap lies before its operation.
	durations, gaps []int64
	streams         map[int32]int64 // occurrences by lane
}

// runParent identifies operations that may form runs.
type runParent struct {
	trace, stream int32
	span          uint64
}

func (s *shortRuns) addDevice(rows []int32) {
	f := s.forest
	var numbers symbols.Table[runParent]
	s.parents = slices.Grow(s.parents[:0], len(rows))
	var below timeline.Descent
	var latest runParent
	number := trace.NoRow
	for _, r := range rows {
		if anyOpBelow(f, r, &below) {
			s.parents = append(s.parents, trace.NoRow)
			continue
		}
		if parent := s.parentOf(r); number == trace.NoRow || parent != latest {
			latest = parent
			number = numbers.ID(parent)
		}
		s.parents = append(s.parents, number)
	}
	var first []int32
	parent := func(i int32) int32 { return s.parents[i] }
	s.grouped, first = order.GroupRows(rows, len(numbers.Values), s.grouped, parent)
	for g := range numbers.Values {
		s.addGroup(s.grouped[first[g]:first[g+1]])
	}
}

func anyOpBelow(f *trace.Forest, r int32, below *timeline.Descent) bool {
	mayHave := !f.Has(r, trace.FlagDuplicate) && f.Tree.First[r] < f.Tree.First[r+1]
	return mayHave && len(timeline.OpsBelow(f, r, below)) > 0
}

// hostTops returns the topmost row of the host operations directly above each row, or the row itself.
func hostTops(f *trace.Forest) []int32 {
	tops := make([]int32, f.Len())
	for r := range f.Rows() {
		tops[r] = r // duplicates included
	}
	for r := range f.Tree.TopDown() {
		if p := f.Tree.Parent[r]; p != trace.NoRow && f.Has(p, trace.FlagOp|trace.FlagHost) {
			tops[r] = tops[p]
		}
	}
	return tops
}

// parentOf returns the nearest span above row r that is no host operation, read or not, with the stream of r.
func (s *shortRuns) parentOf(r int32) runParent {
	f := s.forest
	top := s.tops[r]
	return runParent{trace: f.Trace(top), stream: f.DeviceStreamOf(r), span: f.ParentID(top)}
}

// addGroup adds the runs among operations below one parent, sorted by start.
func (s *shortRuns) addGroup(rows []int32) {
	f := s.forest
	end := int64(0)
	lane := int32(0)
	for _, r := range rows {
		start := f.Start(r)
		duration := f.Duration(r)
		gap := max(0, start-end)
		if len(s.names) > 0 && (duration > int64(shortOperation) || gap > int64(shortOperation)) {
			s.endRun(lane)
		}
		if duration > int64(shortOperation) {
			continue
		}
		if len(s.names) == 0 {
			gap = 0
			end = start
			lane = f.Lane(r)
		}
		s.names = append(s.names, f.Name(r))
		s.durations = append(s.durations, duration)
		s.gapTimes = append(s.gapTimes, gap)
		end = max(end, start+duration)
	}
	s.endRun(lane)
}

func (s *shortRuns) endRun(lane int32) {
	n := len(s.names)
	if n > 1 {
		s.count++
		s.operations += int64(n)
		if run := s.run(); run != nil {
			run.count++
			run.streams[lane]++
			for i := range n {
				run.durations[i] = wide.AddSaturating(run.durations[i], s.durations[i])
				run.gaps[i] = wide.AddSaturating(run.gaps[i], s.gapTimes[i])
			}
		}
	}
	s.names = s.names[:0]
	s.durations = s.durations[:0]
	s.gapTimes = s.gapTimes[:0]
}

// run returns the kept run equal to the current one, nil beyond maxRunOperations.
func (s *shortRuns) run() *shortRun {
	s.key = s.key[:0]
	for _, name := range s.names {
		s.key = binary.LittleEndian.AppendUint32(s.key, uint32(name))
	}
	if i, ok := s.index[string(s.key)]; ok {
		return &s.list[i]
	}
	n := len(s.names)
	if s.different+int64(n) > maxRunOperations {
		s.leftOut += int64(n)
		return nil
	}
	s.different += int64(n)
	s.index[string(s.key)] = int32(len(s.list))
	s.list = append(s.list, shortRun{
		names: slices.Clone(s.names), durations: make([]int64, n), gaps: make([]int64, n),
		streams: make(map[int32]int64),
	})
	return &s.list[len(s.list)-1]
}

func (s *shortRuns) sequence(found *repeats.Sequence, whole float64) Sequence {
	f := s.forest
	row := Sequence{Count: found.Count, Rounds: found.Rounds}
	streams := make(map[Stream]int64)
	for _, at := range found.At {
		run := &s.list[at.Text]
		for i := at.From; i < at.From+found.Length*at.Rounds; i++ {
			row.SumNS = wide.AddSaturating(row.SumNS, run.durations[i])
			if i > at.From {
				row.GapNS = wide.AddSaturating(row.GapNS, run.gaps[i])
			}
		}
		for lane, n := range run.streams {
			stream := Stream{Key: f.Devices.Keys[f.Devices.Lanes[lane]], Stream: f.Names.Lanes.Values[lane].Stream}
			streams[stream] += n
		}
	}
	first := found.At[0]
	for _, name := range s.list[first.Text].names[first.From : first.From+found.Length] {
		row.Operations = append(row.Operations, f.Names.Operations.Values[name])
	}
	for stream, n := range streams {
		stream.Count = n
		row.Streams = append(row.Streams, stream)
	}
	if whole > 0 {
		row.Share = op.KnownFloat(float64(row.SumNS) / whole)
	}
	if both := float64(row.SumNS) + float64(row.GapNS); both > 0 {
		row.GapShare = op.KnownFloat(float64(row.GapNS) / both)
	}
	return row
}

// compare orders sequences by time, gaps included, the longest first, then by length and names.
func (s Sequence) compare(o Sequence) int {
	return cmp.Or(
		cmp.Compare(wide.AddSaturating(o.SumNS, o.GapNS), wide.AddSaturating(s.SumNS, s.GapNS)),
		cmp.Compare(len(o.Operations), len(s.Operations)),
		slices.Compare(s.Operations, o.Operations),
	)
}
