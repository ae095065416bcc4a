package profile

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// plus adds known integers.
func plus(a, b op.Int) op.Int { return op.Int{V: a.V + b.V, Known: a.Known || b.Known} }

// naiveStats computes each statistic of a group by its definition.
func naiveStats(opts *Options, entries []op.Entry, totalNS int64) Stats {
	s := Stats{Count: int64(len(entries)), Kind: entries[0].Kind.String(), Mixes: []string{}}
	s.MinNS = entries[0].Duration
	var durations []int64
	for _, e := range entries {
		s.SumNS += e.Duration
		s.MinNS = min(s.MinNS, e.Duration)
		s.MaxNS = max(s.MaxNS, e.Duration)
		s.Elements += e.OutputElements.V
		s.MemoryBytes = plus(s.MemoryBytes, e.MemoryBytes)
		if e.Failed {
			s.Errors++
		}
		if e.Kind.String() != s.Kind {
			s.Kind = "mixed"
		}
		if e.Warn&op.WarnNegativeDuration == 0 {
			durations = append(durations, e.Duration)
		}
	}
	s.Kind = cmp.Or(s.Kind, "unknown")
	s.MeanNS = float64(s.SumNS) / float64(s.Count)
	if s.Count > 1 {
		mean := new(big.Rat).SetFrac64(s.SumNS, s.Count)
		squares := new(big.Rat)
		for _, e := range entries {
			d := new(big.Rat).Sub(new(big.Rat).SetInt64(e.Duration), mean)
			squares.Add(squares, d.Mul(d, d))
		}
		variance, _ := squares.Quo(squares, new(big.Rat).SetInt64(s.Count-1)).Float64()
		std := math.Sqrt(variance)
		s.StdNS = op.KnownFloat(std)
	}
	for p, field := range map[int64]*op.Float{50: &s.P50NS, 90: &s.P90NS, 95: &s.P95NS, 99: &s.P99NS} {
		if len(durations) > 0 {
			*field = op.KnownFloat(float64(nearestRank(durations, p)))
		}
	}
	if entries[0].Side == op.SideHost {
		s.Side = "host"
	} else if totalNS > 0 {
		share := float64(s.SumNS) / float64(totalNS)
		s.Share = op.KnownFloat(share)
	}
	s.FLOPs, s.Figures = naiveWork(opts, entries)
	s.Exemplar = naiveExemplar(entries, s.MaxNS)
	differs := func(of func(op.Entry) any) bool {
		var first any
		for _, e := range entries {
			v := of(e)
			switch {
			case reflect.ValueOf(v).IsZero():
			case first == nil:
				first = v
			case !reflect.DeepEqual(first, v):
				return true
			}
		}
		return false
	}
	if differs(func(e op.Entry) any { return e.InputShapes }) ||
		differs(func(e op.Entry) any { return e.OutputShape }) {
		s.Mixes = append(s.Mixes, "shape")
	}
	if differs(func(e op.Entry) any { return e.DType }) || differs(func(e op.Entry) any { return e.InputDTypes }) {
		s.Mixes = append(s.Mixes, "dtype")
	}
	return s
}

// naiveExemplar returns the smallest ids among the slowest entries.
func naiveExemplar(entries []op.Entry, slowest int64) *Exemplar {
	var ids []Exemplar
	for _, e := range entries {
		if e.Duration == slowest && !e.SpanID.IsZero() {
			ids = append(ids, Exemplar{e.TraceID, e.SpanID})
		}
	}
	if len(ids) == 0 {
		return nil
	}
	best := slices.MinFunc(ids, func(a, b Exemplar) int {
		return cmp.Or(bytes.Compare(a.TraceID[:], b.TraceID[:]), bytes.Compare(a.SpanID[:], b.SpanID[:]))
	})
	return &best
}

func TestProfileAgainstReference(t *testing.T) {
	bounds := make(map[string]int)
	cases.Inputs(t, 10, 500, func(seed uint64, r *rand.Rand) {
		entries := tracetest.RandomEntries(r, 1+r.IntN(600))
		opts := Options{By: tracetest.Keys("device,attr:layer"), Top: 5, Peaks: randomPeaks(r),
			RecordedFLOPs: r.IntN(3) == 0}
		if r.IntN(2) == 0 {
			opts.MaxGroups = 1 + r.IntN(6)
		}
		p := New(opts)
		var total Total
		for i := range entries {
			e := &entries[i]
			if r.IntN(3) == 0 {
				setRandomWork(r, e)
			}
			p.Add(e)
			if e.Side != op.SideHost {
				total.Count++
				total.SumNS += e.Duration
				total.MemoryBytes = plus(total.MemoryBytes, e.MemoryBytes)
				if e.MemoryBytes.Known {
					total.PeakMemoryBytes = op.Known(max(total.PeakMemoryBytes.V, e.MemoryBytes.V))
				}
				if e.Kind == op.KindMemory && e.MemoryBytes.V > 0 {
					total.CopiedBytes = plus(total.CopiedBytes, e.MemoryBytes)
				}
			}
		}
		total.WallNS = naiveWall(entries)
		ofDevices := slices.DeleteFunc(slices.Clone(entries), func(e op.Entry) bool { return e.Side == op.SideHost })
		total.FLOPs, total.Figures = naiveWork(&opts, ofDevices)
		rep := p.Sums()
		options := gocmp.Options{cmpopts.EquateApprox(1e-12, 1e-9), tracetest.EqualKeys}
		check.Equal(t, fmt.Sprintf("seed %d: total", seed), total, rep.Total, options)

		// An entry without a row of its own is in the common row.
		compare := func(what string, key func(op.Entry) string, got map[string]Stats) {
			groups := map[string][]op.Entry{}
			want := map[string]Stats{}
			for _, e := range entries {
				of := e.Side.String() + "|" + key(e)
				if _, kept := got[of]; !kept {
					of = e.Side.String() + "|(other)"
				}
				groups[of] = append(groups[of], e)
			}
			for of, group := range groups {
				want[of] = naiveStats(&opts, group, total.SumNS)
				if roof := want[of].Roofline; roof != nil {
					bounds[roof.Bound]++
				}
			}
			check.Equal(t, fmt.Sprintf("seed %d: %s", seed, what), "", diffStats(want, got))
		}
		got := map[string]Stats{}
		for _, row := range rep.Operations {
			got[row.Side+"|"+row.Operation] = row.Stats
		}
		compare("operations", func(e op.Entry) string { return e.Operation }, got)
		got = map[string]Stats{}
		for _, row := range rep.Groups {
			got[row.Side+"|"+row.Key.String()] = row.Stats
		}
		compare("groups", func(e op.Entry) string { return cmp.Or(e.DeviceID, "unknown") + ", " + e.Attrs[0].Value },
			got)
		var devices [3]int64
		for _, row := range rep.Devices {
			devices[0] += row.Count
			devices[1] += row.SumNS
			devices[2] += row.MemoryBytes.V
		}
		check.Equal(t, fmt.Sprintf("seed %d: devices", seed),
			[3]int64{total.Count, total.SumNS, total.MemoryBytes.V}, devices)
	})
	if bounds["compute"] == 0 || bounds["memory"] == 0 {
		t.Errorf("rows by what bounds them: %v", bounds)
	}
}

// diffStats compares rows: percentiles within the sketch's error, all else up to rounding.
func diffStats(want, got map[string]Stats) string {
	percentiles := func(p gocmp.Path) bool {
		for _, step := range p {
			if f, ok := step.(gocmp.StructField); ok && len(f.Name()) == 5 && f.Name()[0] == 'P' {
				return true
			}
		}
		return false
	}
	near := func(tolerance float64) gocmp.Option {
		return gocmp.Comparer(func(a, b float64) bool {
			return math.Abs(a-b) <= math.Max(math.Abs(a),
				math.Abs(b))*tolerance
		})
	}
	return gocmp.Diff(want, got,
		gocmp.FilterPath(percentiles, near(sketch.RelativeError+1e-9)),
		gocmp.FilterPath(func(p gocmp.Path) bool { return !percentiles(p) }, near(1e-12)))
}

func naiveWall(entries []op.Entry) op.Int {
	first := int64(math.MaxInt64)
	last := int64(math.MinInt64)
	ok := false
	for _, e := range entries {
		if e.Start.Known && e.Side != op.SideHost {
			first = min(first, e.Start.V)
			last = max(last, e.Start.V+e.Duration)
			ok = true
		}
	}
	if !ok {
		return op.Int{}
	}
	return op.Known(last - first)
}

// nearestRank returns a percentile by its definition: the smallest value not exceeded by at least percent of a hundred.
func nearestRank(values []int64, percent int64) int64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(int64(len(sorted))*percent+99)/100-1]
}

// Profiles without parts merge in the order of the calls.
func TestProfileMergeWithoutChunksKeepsOrder(t *testing.T) {
	opts := Options{}
	opts.Top = 3
	opts.HotspotBytes = -1
	add := func(p *Profile, names ...string) {
		for _, name := range names {
			p.Add(&op.Entry{Operation: name, Duration: 5, MemoryBytes: op.Known(1)})
		}
	}
	a := New(opts)
	b := New(opts)
	c := New(opts)
	add(a, "1", "2")
	add(b, "3")
	add(c, "4", "5")
	a.Merge(b)
	a.Merge(c)
	add(a, "6")
	rep := a.Sums()
	for name, list := range map[string][]*op.Entry{"slowest": rep.Slowest, "hotspots": rep.Hotspots} {
		got := ""
		for _, e := range list {
			got += e.Operation
		}
		check.Equal(t, name, "123", got)
	}
	check.Equal(t, "hotspots", 6, rep.HotspotCount)
}

// Merging leaves the source unchanged and shares no mutable state with it, because live shards go on counting.
func TestProfileMergeLeavesSource(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	opts := Options{By: tracetest.Keys("device,shape"), MaxGroups: 3, Peaks: tracetest.TestPeaks()}
	shard := New(opts)
	entries := tracetest.RandomEntries(r, 500)
	for i := range entries[:250] {
		shard.Add(&entries[i])
	}
	before := shard.Sums()
	sum := New(opts)
	sum.Merge(shard)
	check.Equal(t, "a merged copy", before, sum.Sums(), tracetest.EqualKeys)
	for i := range entries[250:] {
		sum.Add(&entries[250+i])
	}
	check.Equal(t, "the source changed", before, shard.Sums(), tracetest.EqualKeys)
}

// The profile retains no memory of entries, which readers reuse.
func TestProfileKeepsNoEntry(t *testing.T) {
	opts := Options{}
	opts.HotspotBytes = -1
	opts.By = tracetest.Keys("shape")
	p := New(opts)
	dims := []int64{2, 3}
	e := op.Entry{OutputShape: dims, InputShapes: []op.Shape{dims}, Operation: "a", Duration: 9,
		MemoryBytes: op.Known(1)}
	p.Add(&e)
	want := p.Sums()
	wantText := fmt.Sprint(want.Slowest[0].OutputShape, want.Groups[0].Key)
	dims[0] = 7
	e = op.Entry{Operation: "overwritten"}
	got := p.Sums()
	check.Equal(t, "", want, got, tracetest.EqualKeys)
	check.Equal(t, "", wantText, fmt.Sprint(got.Slowest[0].OutputShape, got.Groups[0].Key))
}

// Adding to an existing group does not allocate.
func TestProfileAddDoesNotAllocate(t *testing.T) {
	opts := Options{}
	opts.By = tracetest.Keys("device,shape,trace")
	p := New(opts)
	entries := tracetest.RandomEntries(rand.New(rand.NewPCG(1, 2)), 1000)
	for range 3 {
		for i := range entries {
			p.Add(&entries[i])
		}
	}
	i := 0
	check.Equal(t, "allocations per entry", 0,
		testing.AllocsPerRun(2000, func() { p.Add(&entries[i%len(entries)]); i++ }))
}

func BenchmarkAddEntry(b *testing.B) {
	entries := tracetest.RandomEntries(rand.New(rand.NewPCG(1, 2)), 1000)
	p := New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		for i := range entries {
			p.Add(&entries[i])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(entries)), "ns/entry")
}

func TestEstimates(t *testing.T) {
	report := func(weights ...float64) *Sums {
		p := New(Options{})
		for _, w := range weights {
			p.Add(&op.Entry{Operation: "a", Duration: 100, AdjustedCount: w})
		}
		return p.Sums()
	}
	r := report(2, 4.5)
	if r.Total.EstCount.V != 6.5 || r.Total.EstSumNS.V != 650 || r.Total.Count != 2 {
		t.Errorf("estimates %g and %g", r.Total.EstCount.V, r.Total.EstSumNS.V)
	}
	if r.Operations[0].EstCount.V != 6.5 || r.Operations[0].EstSumNS.V != 650 || r.Operations[0].Count != 2 {
		t.Errorf("estimates of the row: %+v", r.Operations[0].Estimate)
	}
	for _, weights := range [][]float64{{2, 0}, {0, 0}, {}} {
		if r := report(weights...); r.Total.EstCount.Known || len(r.Operations) > 0 && r.Operations[0].EstCount.Known {
			t.Errorf("weights %g: an estimate", weights)
		}
	}
}

func TestSumsBeyond64Bits(t *testing.T) {
	const huge = 1 << 62
	p := New(Options{})
	for range 5 {
		p.Add(&op.Entry{Operation: "a", DeviceID: "d", Duration: huge, MemoryBytes: op.Known(huge)})
	}
	r := p.Sums()
	row := r.Operations[0]
	if row.SumNS != 1<<63-1 || row.MeanNS != huge || row.StdNS.V != 0 || row.MemoryBytes.V != 1<<63-1 {
		t.Errorf("%+v", row)
	}
	check.Equal(t, "rows are saturated", 1, r.Saturated)
}

// Zero options mean the defaults, and negative options mean none.
func TestOptions(t *testing.T) {
	report := func(opts Options) *Sums {
		p := New(opts)
		for _, name := range []string{"a", "b", "c"} {
			p.Add(&op.Entry{Operation: name, MemoryBytes: op.Known(DefaultHotspotBytes)})
		}
		return p.Sums()
	}
	r := report(Options{})
	if len(r.Operations) != 3 || len(r.Slowest) != 3 || r.ThresholdBytes != DefaultHotspotBytes || r.HotspotCount != 0 {
		t.Errorf("%d operations, %d slowest, %d hotspots above %d", len(r.Operations), len(r.Slowest),
			r.HotspotCount, r.ThresholdBytes)
	}
	r = report(Options{MaxGroups: -1, Top: -1, HotspotBytes: -1})
	if len(r.Operations) != 3 || len(r.Slowest) != 0 || r.ThresholdBytes != 0 || r.HotspotCount != 3 {
		t.Errorf("%d operations, %d slowest, %d hotspots above %d", len(r.Operations), len(r.Slowest),
			r.HotspotCount, r.ThresholdBytes)
	}
}

// naiveErrors counts failed entries, sorted so that the first of each error comes first.
func naiveErrors(entries []op.Entry) []Error {
	failed := slices.DeleteFunc(slices.Clone(entries), func(e op.Entry) bool { return !e.Failed })
	for i := range failed {
		if e := &failed[i]; opfile.IsLocal(e.TraceID) {
			e.TraceID = op.TraceID{}
			e.SpanID = op.SpanID{}
		}
	}
	start := func(e op.Entry) int64 { // unknown starts last
		if e.Start.Known {
			return e.Start.V
		}
		return 1<<63 - 1
	}
	ids := func(e op.Entry) []byte {
		if e.SpanID.IsZero() {
			return bytes.Repeat([]byte{0xff}, 25)
		}
		return append(e.TraceID[:], e.SpanID[:]...)
	}
	slices.SortFunc(failed, func(a, b op.Entry) int {
		return cmp.Or(cmp.Compare(start(a), start(b)), bytes.Compare(ids(a), ids(b)))
	})
	rows := []Error{}
	for _, e := range failed {
		i := slices.IndexFunc(rows, func(r Error) bool {
			return r.Text == e.Error && r.Operation == e.Operation && r.Side == e.Side.String()
		})
		if i < 0 {
			i = len(rows)
			rows = append(rows, Error{e.Error, e.Operation, e.Side.String(), 0,
				Occurrence{e.TraceID, e.SpanID, e.Start}})
		}
		rows[i].Count++
	}
	slices.SortFunc(rows, func(a, b Error) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Text, b.Text),
			strings.Compare(a.Operation, b.Operation),
			strings.Compare(a.Side, b.Side))
	})
	return rows
}

func sumOf[R any](rows []R, count func(*R) int64) (sum int64) {
	for i := range rows {
		sum += count(&rows[i])
	}
	return sum
}

// Rows of errors match a naive count for any parts, and add up to the errors of operations, also beyond the limit.
func TestErrors(t *testing.T) {
	cases.Seeds(t, 100, func(seed uint64, r *rand.Rand) {
		entries := tracetest.RandomEntries(r, 300)
		want := naiveErrors(entries)
		for _, limit := range []int{0, 1 + r.IntN(5)} {
			parts := []*Profile{New(Options{MaxGroups: limit}), New(Options{MaxGroups: limit}),
				New(Options{MaxGroups: limit})}
			for i := range entries {
				parts[r.IntN(len(parts))].Add(&entries[i])
			}
			for _, i := range []int{2, 1} {
				parts[0].Merge(parts[i])
			}
			got := parts[0].Sums()
			if limit == 0 {
				check.Equal(t, fmt.Sprintf("seed %d", seed), want, got.Errors)
			} else {
				others := slices.ContainsFunc(got.Errors, func(e Error) bool { return e.Text == key.Other })
				check.Equal(t, fmt.Sprintf("seed %d: others", seed), len(want) > limit, others)
				check.Equal(t, fmt.Sprintf("seed %d: rows", seed), min(len(want), limit+1), len(got.Errors))
			}
			check.Equal(t, fmt.Sprintf("seed %d, at most %d: sum", seed, limit),
				sumOf(got.Operations, func(o *Operation) int64 { return o.Errors }),
				sumOf(got.Errors, func(e *Error) int64 { return e.Count }))
		}
	})
}

// Bytes includes errors, and their texts are cut.
func TestErrorsTakeMemory(t *testing.T) {
	p := New(Options{Top: -1})
	before := p.Bytes()
	rec := op.Record{Entry: &op.Entry{Operation: "matmul", Failed: true, Error: strings.Repeat("x", 2*MaxText)}}
	if !LongRecord(&rec) {
		t.Fatal("the text of an error is none of those that figures are kept by")
	}
	CutTexts(&rec)
	p.Add(rec.Entry)
	if got := p.Bytes() - before; got < maxErrorText || got > 6*maxErrorText {
		t.Errorf("%d bytes for a text of %d", got, maxErrorText)
	}
	if text := p.Sums().Errors[0].Text; len(text) > maxErrorText+len(cutMark) || !strings.HasSuffix(text, cutMark) {
		t.Errorf("a text of %d bytes", len(text))
	}
}

// naiveWork sums up the work of entries of one side, recorded or as given by package flops.
func naiveWork(opts *Options, entries []op.Entry) (total int64, w work.Figures) {
	var time, moved, movedFLOPs int64
	var roof work.Roofline
	all := new(big.Rat)
	compute := new(big.Rat)
	for _, e := range entries {
		var follows flops.Work
		if !opts.RecordedFLOPs {
			follows = flops.Of(&e)
		}
		n := follows.FLOPs
		bytes := follows.Bytes
		dtype := follows.DType
		if e.FLOPs.Known {
			n = e.FLOPs
		} else if n.Known {
			w.FLOPsDerived += n.V
			w.FLOPsDerivedCount++
		}
		if !n.Known {
			continue
		}
		w.FLOPsCount++
		total += n.V
		time += e.Duration
		if !bytes.Known {
			continue
		}
		w.MovedCount++
		moved += bytes.V
		movedFLOPs += n.V
		bandwidth, speed := naivePeaks(opts.Peaks, e.DeviceID, dtype)
		if bandwidth == 0 || n.V > 0 && speed == 0 {
			continue
		}
		least := big.NewRat(bytes.V, bandwidth)
		busy := new(big.Rat)
		if n.V > 0 {
			busy.SetFrac64(n.V, speed)
		}
		arithmetic := busy.Cmp(least) > 0
		if arithmetic {
			least = busy
		}
		least.SetString(least.Mul(least, big.NewRat(1e12, 1)).FloatString(0)) // the peaks avoid halves
		if least.Sign() == 0 {
			continue // neither computes nor moves
		}
		roof.Count++
		roof.SumNS += e.Duration
		roof.FLOPs += n.V
		roof.MovedBytes += bytes.V
		if all.Add(all, least); arithmetic {
			compute.Add(compute, least)
		}
	}
	if time > 0 && entries[0].Side != op.SideHost {
		w.FLOPsPerSecond = op.KnownFloat(float64(total) / float64(time) * 1e9)
	}
	if w.MovedCount > 0 {
		w.MovedBytes = op.Known(moved)
	}
	if moved > 0 {
		w.FLOPsPerByte = op.KnownFloat(float64(movedFLOPs) / float64(moved))
	}
	if roof.Count > 0 && entries[0].Side != op.SideHost {
		roof.BoundNS, _ = new(big.Rat).Quo(all, big.NewRat(1000, 1)).Float64()
		roof.ComputeShare, _ = new(big.Rat).Quo(compute, all).Float64()
		if roof.Bound = "memory"; compute.Cmp(new(big.Rat).Sub(all, compute)) > 0 {
			roof.Bound = "compute"
		}
		if roof.SumNS > 0 {
			roof.Share = op.KnownFloat(roof.BoundNS / float64(roof.SumNS))
		}
		w.Roofline = &roof
	}
	return total, w
}

// naivePeaks returns the bytes and FLOPs per second of a device, 0 if unknown. Patterns may only end in *.
func naivePeaks(table *peaks.Table, device string, dtype op.DType) (bandwidth, speed int64) {
	if table == nil {
		return 0, 0
	}
	for _, d := range table.Devices {
		prefix, open := strings.CutSuffix(d.Match, "*")
		if device == d.Match || open && strings.HasPrefix(device, prefix) || d.Match == "" {
			return int64(d.BytesPerSecond), int64(d.FLOPsPerSecond[dtype])
		}
	}
	return 0, 0
}

// randomPeaks returns nil or a table with overlapping patterns.
func randomPeaks(r *rand.Rand) *peaks.Table {
	if r.IntN(4) == 0 {
		return nil
	}
	table := new(peaks.Table)
	for range 1 + r.IntN(4) {
		d := peaks.Device{Match: tracetest.Pick(r, "fpga:*", "fpga:1", "*", "cpu", ""),
			BytesPerSecond: tracetest.Pick(r, 1e9, 3e9, 7e12)}
		d.FLOPsPerSecond = map[op.DType]float64{op.F32: tracetest.Pick(r, 7e7, 25e7, 11e12),
			op.F16: tracetest.Pick(r, 1e10, 13e12)}
		table.Devices = append(table.Devices, d)
	}
	return table
}

// setRandomWork makes e one of a few operations, some of them bound by computation.
func setRandomWork(r *rand.Rand, e *op.Entry) {
	e.Operation = tracetest.Pick(r, "add", "mul", "matmul", "relu", "copy", "mystery")
	e.Kind = op.Kind(r.IntN(3))
	e.DType = tracetest.Pick(r, op.F32, op.F16, op.BF16, "", op.C64)
	e.InputShapes = nil
	e.InputDTypes = nil
	dim := func() int64 { return tracetest.Pick[int64](r, 0, 1, 2, 64, 784) }
	shape := func() op.Shape { return tracetest.Pick(r, nil, op.Shape{}, op.Shape{dim(), dim()}, op.Shape{1, 2}) }
	for range r.IntN(4) {
		e.InputShapes = append(e.InputShapes, shape())
		e.InputDTypes = append(e.InputDTypes, tracetest.Pick(r, op.F32, op.F16, ""))
	}
	if e.OutputShape = shape(); r.IntN(2) == 0 {
		m := dim()
		n := dim()
		k := dim()
		e.OutputShape = op.Shape{m, n}
		e.InputShapes = []op.Shape{{m, n}, {m, n}}
		e.InputDTypes = nil
		if e.Operation == "matmul" {
			e.InputShapes = []op.Shape{{m, k}, {k, n}}
		}
	}
}
