package diff_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

// runs returns n runs of a simulation.
func runs(t testing.TB, sim tracetest.Simulation, rng *rand.Rand, n int, slower map[string]float64) (runs []*diff.Run) {
	t.Helper()
	for i := range n {
		runs = append(runs, run(t, fmt.Sprint("run ", i), sim.Run(rng, slower), n == 1))
	}
	return runs
}

var six = []string{"matmul", "conv2d", "relu", "softmax", "all_reduce", "add"}

func TestVerdicts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	sim := tracetest.Simulation{Names: []string{"matmul", "relu", "old"}, Steps: 40, Within: 0.01}
	base := runs(t, sim, rng, 1, nil)
	sim.Names = []string{"matmul", "relu", "new"}
	head := runs(t, sim, rng, 1, map[string]float64{"matmul": 0.5})
	r := check.Must(diff.Compare(base, head, diff.Options{}))(t)
	got := make(map[string]diff.Verdict)
	for _, row := range r.Rows {
		got[row.Key.String()] = row.Verdict
	}
	want := map[string]diff.Verdict{
		"matmul": diff.Faster, "relu": diff.Unchanged, "new": diff.Added, "old": diff.Removed,
	}
	check.Equal(t, "", want, got)
	if d := r.Rows[0].Delta.V; r.Rows[0].Verdict != diff.Faster || math.Abs(d+0.5) > 0.01 {
		t.Errorf("the first row is %s", encoded(t, r.Rows[0]))
	}
	if what, by := r.Slowdown(); what != "" || by != 0 {
		t.Errorf("%q is slower by %v", what, by)
	}
}

// A run of the host alone has a time from its first start to its last end.
func TestWallOfTheHost(t *testing.T) {
	of := func(last int64) []*diff.Run {
		entries := []*op.Entry{
			{Operation: "mm", Side: op.SideHost, Start: op.Known(int64(1e18)), Duration: 1_000},
			{Operation: "mm", Side: op.SideHost, Start: op.Known(1e18 + last - 500), Duration: 500},
		}
		return []*diff.Run{run(t, "cpu", entries, true)}
	}
	r := check.Must(diff.Compare(of(4_000), of(6_000), diff.Options{}))(t)
	if len(r.Parts) != 1 || r.Parts[0].BaseNS.V != 4_000 || r.Parts[0].HeadNS.V != 6_000 {
		t.Errorf("%s", encoded(t, r.Parts))
	}
}

// Rows are not called unchanged if the samples are too small to find a change.
func TestSmallSamplesAreNotDecided(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	sim := tracetest.Simulation{Names: six, Steps: 3, Within: 0.01}
	for _, tt := range []struct {
		n       int
		verdict diff.Verdict
		warning string
	}{
		{2, diff.TooFew, ""},
		{5, diff.TooFew, "too few values to find any difference with 9 tests: record at least 8 per side"},
		{8, diff.Unchanged, ""},
	} {
		r := check.Must(diff.Compare(runs(t, sim, rng, tt.n, nil), runs(t, sim, rng, tt.n, nil), diff.Options{}))(t)
		for _, row := range r.Rows {
			check.Equal(t, fmt.Sprintf("%d runs: verdict", tt.n), tt.verdict, row.Verdict)
			check.Equal(t, "values", tt.n, row.NBase)
		}
		check.Equal(t, fmt.Sprintf("%d runs: warnings", tt.n), tt.warning, strings.Join(r.Warnings, "; "))
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	return string(check.Must(json.Marshal(v))(t))
}

// Reports by several keys have a row per combination.
func TestRowsOfSeveralKeys(t *testing.T) {
	keys := check.Must(key.Parse("operation,device"))(t)
	sim := tracetest.Simulation{Names: six[:2], Steps: 30, Within: 0.1}
	rng := rand.New(rand.NewPCG(1, 6))
	sides := make([][]*diff.Run, 2)
	for side, factor := range []float64{1, 2} {
		entries := sim.Run(rng, nil)
		for _, e := range sim.Run(rng, map[string]float64{"matmul": factor}) {
			e.DeviceID = "gpu:1"
			entries = append(entries, e)
		}
		r := check.Must(diff.NewRun("run", analyzed(t, entries, keys), keys, true))(t)
		sides[side] = []*diff.Run{r}
	}
	r := check.Must(diff.Compare(sides[0], sides[1], diff.Options{}))(t)
	var got []string
	for _, row := range r.Rows {
		got = append(got, row.Key.String()+": "+string(row.Verdict))
	}
	want := []string{
		"matmul, gpu:1: slower", "conv2d, gpu:0: cannot_tell", "conv2d, gpu:1: cannot_tell",
		"matmul, gpu:0: cannot_tell",
	}
	check.Equal(t, "", want, got, cmpopts.SortSlices(strings.Compare))
	var parts []string
	for _, p := range r.Parts {
		device := ""
		if p.Device != nil {
			device = p.Device.DeviceID
		}
		parts = append(parts, device+" "+p.Part+" "+string(p.Verdict))
	}
	want = []string{
		" wall unchanged", "gpu:0 compute cannot_tell", "gpu:0 idle unchanged", "gpu:1 compute slower",
		"gpu:1 idle unchanged",
	}
	check.Equal(t, "", want, parts)
}

// Lost records are warnings.
func TestLostRecordsAreWarnings(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	sim := tracetest.Simulation{Names: six, Steps: 3}
	report := analyzed(t, sim.Run(rng, nil), nil)
	report.Input.Dropped = 7
	report.Input.Malformed = 1
	base := check.Must(diff.NewRun("a.jsonl", report, nil, true))(t)
	r := check.Must(diff.Compare([]*diff.Run{base}, []*diff.Run{run(t, "b.jsonl", nil, true)}, diff.Options{}))(t)
	want := []string{
		"devices of the base only, without a match: gpu:0",
		"one run per side: other runs may differ as much; record at least 8 per side",
		"base, a.jsonl: 7 operations were lost before they were written", "base, a.jsonl: 1 records could not be read",
		"head, b.jsonl: no operations",
	}
	check.Equal(t, "", want, r.Warnings)
}

// Reports survive a round trip through JSON.
func TestReportReadsBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	sim := tracetest.Simulation{Names: six, Steps: 30, Within: 0.1}
	head := runs(t, sim, rng, 1, map[string]float64{"add": 3})
	r := check.Must(diff.Compare(runs(t, sim, rng, 1, nil), head, diff.Options{}))(t)
	text := encoded(t, r)
	var back diff.Report
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	check.OK(t, dec.Decode(&back))
	check.Equal(t, "reads back", text, encoded(t, &back))
}

// The example of docs/analyses.md shows the results of Compare.
func TestDocumentedComparison(t *testing.T) {
	text := check.Must(os.ReadFile("../../docs/analyses.md"))(t)
	var sides [][]*diff.Run
	var got map[string]any
	_, section, _ := strings.Cut(string(text), "\n## Comparing two runs\n")
	_, example, _ := strings.Cut(section, "By hand, ")
	for line := range strings.SplitSeq(example, "\n") {
		words := strings.Fields(line)
		switch {
		case len(got) == 0 && strings.HasPrefix(line, "    "):
			var runs []*diff.Run
			for _, us := range words[1:] {
				n := check.Must(strconv.ParseInt(us, 10, 64))(t)
				runs = append(runs, run(t, us, []*op.Entry{{Operation: "op", Duration: 1000 * n}}, false))
			}
			if sides = append(sides, runs); len(sides) == 2 {
				r := check.Must(diff.Compare(sides[0], sides[1], diff.Options{}))(t)
				check.OK(t, json.Unmarshal([]byte(encoded(t, r.Rows[0])), &got))
			}
		case strings.HasPrefix(line, "    "):
			want, err := strconv.ParseFloat(words[1], 64)
			if err != nil || got[words[0]] == nil || math.Abs(got[words[0]].(float64)-want) > 1e-6 {
				t.Errorf("%s is %v (%v)", line, got[words[0]], err)
			}
		case strings.HasPrefix(line, "**Values"):
			return
		}
	}
	t.Error("no example")
}

func analyzed(t testing.TB, entries []*op.Entry, by []key.Key) *analyze.Report {
	t.Helper()
	records := recordtest.Entries(entries...)
	return check.Must(analyze.Run(t.Context(), analyze.Records(records), diff.ReportOptions(by)))(t)
}

func run(t testing.TB, name string, entries []*op.Entry, single bool) *diff.Run {
	t.Helper()
	return check.Must(diff.NewRun(name, analyzed(t, entries, nil), nil, single))(t)
}

func found(r *diff.Report) (names []string) {
	changed := func(c *diff.Comparison) bool {
		return c.Verdict.Changed() || c.Verdict == diff.Added || c.Verdict == diff.Removed
	}
	for i := range r.Rows {
		if changed(&r.Rows[i].Comparison) {
			names = append(names, string(r.Rows[i].Verdict)+" "+r.Rows[i].Key.String())
		}
	}
	for i := range r.Parts {
		if changed(&r.Parts[i].Comparison) {
			names = append(names, string(r.Parts[i].Verdict)+" "+r.Parts[i].Part)
		}
	}
	return names
}

// A step lasts until the next: a run that waits longer between steps is slower, and its devices idle more.
func TestTimeBetweenStepsCounts(t *testing.T) {
	run := func(gap int64) *diff.Run {
		source := func(yield func(op.Record, error) bool) {
			at := int64(1_700_000_000_000_000_000)
			for step := range int64(40) {
				took := 900_000 + 1_000*(step*7%5)
				e := op.Entry{
					Operation: "matmul", Kind: op.KindCompute, DeviceID: "cuda:0", Step: op.Known(step), Start: op.Known(at),
					Duration: took,
				}
				at += took + gap + 100*(step*3%7)
				if !yield(op.Record{Entry: &e}, nil) {
					return
				}
				e.Operation = "relu"
				e.Start.V += 1_000
				e.Duration = 1_000
				if !yield(op.Record{Entry: &e}, nil) {
					return
				}
			}
		}
		opts := diff.ReportOptions(nil)
		r := check.Must(analyze.Run(t.Context(), analyze.Records(source), opts))(t)
		return check.Must(diff.NewRun("", r, nil, true))(t)
	}
	r := check.Must(diff.Compare([]*diff.Run{run(50_000)}, []*diff.Run{run(900_000)}, diff.Options{}))(t)
	var parts []string
	for _, p := range r.Parts {
		parts = append(parts, p.Part+" "+string(p.Verdict))
	}
	check.Equal(t, "parts", []string{"wall slower", "compute unchanged", "idle more"}, parts)
	check.Equal(t, "other runs are identical", false, r.Identical)
	r = check.Must(diff.Compare([]*diff.Run{run(9)}, []*diff.Run{run(9)}, diff.Options{}))(t)
	check.Equal(t, "finding", "The runs are identical: the same operations at the same times.", r.Findings[0].Text)
}

// Requests of one name are compared by their median, their 95th percentile and their sum.
func TestRequestsAreCompared(t *testing.T) {
	run := func(factor float64) *diff.Run {
		rng := rand.New(rand.NewPCG(1, 14))
		source := func(yield func(op.Record, error) bool) {
			for i := range 400 {
				ns := int64(factor * 1e6 * math.Exp(0.1*rng.NormFloat64()))
				id := op.SpanID{1, byte(i), byte(i >> 8)}
				trace := op.TraceID{byte(i), byte(i >> 8), 1}
				at := op.Known(int64(1_700_000_000_000_000_000 + i*5_000_000))
				span := op.Span{Name: "POST /predict", TraceID: trace, SpanID: id, Start: at, Duration: ns}
				e := op.Entry{Operation: "matmul", DeviceID: "cuda:0", TraceID: trace, ParentSpanID: id,
					Start: at, Duration: ns / 2}
				if !yield(op.Record{Span: &span}, nil) || !yield(op.Record{Entry: &e}, nil) {
					return
				}
			}
		}
		r := check.Must(analyze.Run(t.Context(), analyze.Records(source), diff.ReportOptions(nil)))(t)
		return check.Must(diff.NewRun("", r, nil, true))(t)
	}
	r := check.Must(diff.Compare([]*diff.Run{run(1)}, []*diff.Run{run(1.2)}, diff.Options{}))(t)
	var got []string
	for _, p := range r.Parts[:4] {
		got = append(got, fmt.Sprint(p.Part, " ", p.Request, " ", p.Verdict, " ", p.NBase))
	}
	check.Equal(t, "parts", []string{
		"wall  too_few 1", "request_p50 POST /predict slower 400", "request_p95 POST /predict slower 20",
		"request_sum POST /predict slower 20",
	}, got)
}

// Devices match by rank. Devices of one side only are warnings. A device at two speeds gives no verdict.
func TestDevicesMatchByRank(t *testing.T) {
	side := func(device string, rank int64, slow float64) []*diff.Run {
		sim := tracetest.Simulation{Names: six[:3], Steps: 60, Within: 0.02, Slow: slow, Switch: 0.05}
		entries := sim.Run(rand.New(rand.NewPCG(1, 15)), nil)
		for i, e := range entries {
			e.DeviceID = device
			e.Rank = op.Known(int64(i%2) * rank)
		}
		return []*diff.Run{run(t, "", entries, true)}
	}
	r := check.Must(diff.Compare(side("cuda:0", 1, 0), side("cuda:7", 2, 0), diff.Options{}))(t)
	want := []string{
		"devices of the base only, without a match: 1/cuda:0", "devices of the head only, without a match: 2/cuda:7",
	}
	check.Equal(t, "warnings", want, r.Warnings[:2])
	r = check.Must(diff.Compare(side("cuda:0", 0, 0), side("cuda:7", 0, 2), diff.Options{}))(t)
	check.Equal(t, "found at two speeds", nil, found(r))
	if text := r.Findings[0].Text; !strings.Contains(text,
		"the device ran at two speeds in the head: 0/cuda:0 computes ") {
		t.Error(text)
	}
}
