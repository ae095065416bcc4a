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
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/internal/tracetest"
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
		opts := Options{By: tracetest.Keys("device,attr:layer"), Top: 5, Peaks: tracetest.RandomPeaks(r),
			RecordedFLOPs: r.IntN(3) == 0}
		if r.IntN(2) == 0 {
			opts.MaxGroups = 1 + r.IntN(6)
		}
		p := New(opts)
		var total Total
		for i := range entries {
			e := &entries[i]
			if r.IntN(3) == 0 {
				tracetest.SetRandomWork(r, e)
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
