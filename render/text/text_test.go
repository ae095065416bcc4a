package text_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/analyze/doctor"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/headline"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/analyze/sequences"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/fulldisk"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/text"
)

// hostile is a name that would recolour the terminal, move the cursor and reorder the line.
const hostile = "\x1b[31mred\x1b[0m\r\x1b]0;title\x07\u202emul" + "\n" + "x"

// full returns a report with content for every section.
func full() *analyze.Report {
	cuda0 := device.Key{Rank: op.Known(0), DeviceID: "cuda:0"}
	cuda1 := device.Key{Rank: op.Known(1), DeviceID: "cuda:0"}
	e := &op.Entry{
		Operation: "矩阵乘法" + strings.Repeat("x", 60), Kind: op.KindCompute, Duration: 999_600,
		MemoryBytes: op.Known(1 << 21), OutputShape: op.Shape{64, -1}, Start: op.Known(1795224124000010000),
		Failed: true, DeviceID: "cuda:0", Rank: op.Known(1), TraceID: op.TraceID{1}, SpanID: op.SpanID{2},
	}
	bare := &op.Entry{Operation: "relu", Kind: op.KindCompute, Duration: 600}
	stats := profile.Stats{
		Kind: "compute", Count: 1234567, SumNS: 2_350_000_000, MeanNS: 1903.5, MinNS: 1, MaxNS: 999_999,
		StdNS: op.KnownFloat(1.5), P50NS: op.KnownFloat(1900.0),
		P90NS: op.KnownFloat(2000.0), P95NS: op.KnownFloat(2500.0), P99NS: op.KnownFloat(999_600.0),
		SelfNS: op.Known(7), Elements: 5, MemoryBytes: op.Known(3 << 30), FLOPs: 5e12,
		Errors: 2, Share: op.KnownFloat(0.75), Mixes: []string{"shape", "dtype"}, Figures: work.Figures{FLOPsCount: 2},
	}
	fewer := stats
	fewer.Count, fewer.SumNS, fewer.Share = 1234566, 1_250, op.KnownFloat(1)
	host := profile.Stats{Kind: "mixed", Side: "host", Count: 1, SumNS: 5}
	keys, err := key.Parse("device,attr:region")
	if err != nil {
		panic(err)
	}
	return &analyze.Report{
		Input: analyze.Envelope{
			Files: 3, Formats: []string{"entries-jsonl", "otlp-proto"}, Bytes: 123456, Spans: 1234570, Entries: 1234568,
			Skipped:   2,
			Malformed: 1, Dropped: 3, Orphans: op.Known(4), Duplicates: op.Known(1), Truncated: 1, OverflowedGroups: 9,
			Sampling: analyze.SamplingUnknown, Warnings: map[string]int64{"bad_shape": 2, "neg_duration": 1},
			SkippedBy:   map[string]int64{"non_op": 2, "other_signal": 5},
			MalformedBy: map[string]int64{"expected a value": 1},
			DroppedBy:   map[string]int64{hostile: 3}, MissingBatches: 1, MissingEntries: 2,
			Problems:         []string{"ops.jsonl:7: " + hostile},
			SuspectDurations: op.Known(1200), Clock: op.Known(1), Cycles: op.Known(2), Suspects: []suspects.Suspect{
				{What: suspects.Duration, Operation: hostile, DeviceID: "cuda:0", Rank: op.Known(1),
					Stream: op.Known(7), DurationNS: 34e8},
				{What: suspects.Clock, Operation: "matmul", DeviceID: hostile, DurationNS: 7, SpanID: op.SpanID{2},
					OffNS: op.Known(-1e9)},
				{What: suspects.Cycle, Operation: "request", SpanID: op.SpanID{3}},
			},
		},
		Total: profile.Total{
			Count: 1234568, SumNS: 2_350_000_005, WallNS: op.Known(3_000_000_000), FLOPs: 5e12,
			MemoryBytes: op.Known(3 << 30), CopiedBytes: op.Known(1 << 30), PeakMemoryBytes: op.Known(1 << 21),
			Estimate: profile.Estimate{EstCount: op.KnownFloat(2469136.0), EstSumNS: op.KnownFloat(4.7e9)},
			Figures:  work.Figures{FLOPsCount: 2},
		},
		Headline: &headline.Headline{Text: []string{hostile + ": busy 50.0 % of 1.00 µs.", "A step takes 1.00 µs."}},
		Findings: []findings.Finding{
			{Kind: findings.Bound, Text: "The bound is compute: 90.0 % of 1.00 µs.",
				Where: findings.Where{Section: "devices"}},
			{Kind: findings.Operation, Text: "Without " + hostile + " the run would be shorter."},
			{Kind: findings.HostGap, Text: "The device is idle 68.6 ms (74 %).", Try: "read the loss every N steps, " + hostile,
				SavedNS: op.Known(58e6), OfNS: op.Known(92e6), SavedLowNS: op.Known(55e6), SavedHighNS: op.Known(60e6),
				Where: findings.Where{Section: "idle"}},
		},
		Percentiles: profile.Percentiles{ExactUpTo: 32, RelativeError: 0.01},
		Operations:  []profile.Operation{{Operation: "matmul", Stats: stats}, {Operation: hostile, Stats: host}},
		By:          []string{"device", "attr:region"},
		Groups: []profile.Group{
			{Key: key.Group{Keys: keys, Values: []key.Value{{Text: "cuda:0", Known: true}, {}}}, Stats: stats},
			{Key: key.Group{Keys: keys, Other: true}, Stats: host},
		},
		Devices: []profile.Device{
			{
				DeviceID: "cuda:0", Rank: op.Known(0), Count: 5, SumNS: 500, MemoryBytes: op.Known(64),
				SpanNS: op.Known(1000), BusyNS: op.Known(500),
				ComputeNS: op.Known(300), ExposedCommunicationNS: op.Known(100), ExposedMemoryNS: op.Known(60),
				OtherNS: op.Known(40), IdleNS: op.Known(500), OverlapRatio: op.KnownFloat(0.5),
			},
			{DeviceID: "cuda:0", Rank: op.Known(1), Count: 1, SumNS: 7},
			{DeviceID: "unknown", Count: 1},
		},
		LoadBalance: &profile.Balance{Balance: seed.Balance{
			DeviceCount: 2, TotalDurationUS: 400, IdealDurationUS: 200, MaxDurationUS: 300, ImbalanceRatio: 0.5,
			PerDeviceDurationUS: []seed.DeviceDuration{{Device: "0/cuda:0", DurationUS: 300},
				{Device: "1/cuda:0", DurationUS: 100}},
		}},
		Communication: analyze.Communication{
			Rules: profile.CommunicationRules{Attribute: 1, Library: 2, Name: 3},
			Bottlenecks: []seed.Bottleneck{{Operation: "allreduce", TotalDurationUS: 600, RatioOfTotal: 0.25,
				CallCount: 6}},
			Collectives: []collective.Row{{Name: "all_reduce", Group: "tp", Count: 6, Inferred: 1, Repeats: 2,
				TransferNS: op.Known(500), WaitNS: op.Known(100), MaxStartSkewNS: op.Known(90),
				BusBytesPerSecond: op.KnownFloat(1.5e9),
				Stragglers:        []collective.Straggler{{Key: cuda0, Count: 4, CausedWaitNS: 100}},
				Waits:             []collective.Wait{{Key: cuda1, Count: 6, WaitNS: 100}, {Key: cuda0, Count: 6}}}},
		},
		Memory: analyze.Memory{
			ThresholdBytes: 1 << 20, HotspotCount: 7, Hotspots: []*op.Entry{e},
			Copies: []profile.Copy{{Direction: "HtoD", Count: 2, SumNS: 100, MemoryBytes: op.Known(4096),
				BytesPerSecond: op.KnownFloat(4e10)},
				{Direction: "DtoH", Count: 1}},
		},
		Slowest: []*op.Entry{e, bare},
		Idle:    []timeline.IdleGap{{Key: cuda0, DurationNS: 400, Cause: "host", After: "matmul", Before: hostile}},
		IdleCauses: &timeline.IdleCauses{ThresholdNS: 30000,
			Devices: []timeline.IdleDevice{{Key: cuda0, Host: timeline.IdleSum{Count: 1,
				SumNS: 400}, Other: timeline.IdleSum{Count: 2, SumNS: 100}}}},
		CriticalPath: []path.Share{
			{Operation: "matmul", Kind: "compute", Key: cuda0, TimeNS: 900, Share: 0.9, Segments: 3,
				DragNS: op.Known(800)},
			{Kind: "idle", TimeNS: 100, Share: 0.1, Segments: 1}},
		PathTotals: &path.Totals{Summary: path.Summary{
			Paths: 1, DurationNS: 1000, BoundBy: path.BoundBy{ComputeNS: 900, IdleNS: 100},
			Edges: path.Edges{Tree: 3, Links: 1, Stream: 2, Collective: 1},
		}},
		PathOperations: []path.Operation{
			{Operation: hostile, Kind: "compute", TimeNS: 900, Share: 0.9, Segments: 3, DragNS: op.Known(800)},
			{Kind: "idle", TimeNS: 100, Share: 0.1},
		},
		SlowestRequest: &requests.Slow{
			Name: hostile, TraceID: op.TraceID{15: 1}, SpanID: op.SpanID{7: 2}, DurationNS: 900, Alike: 3,
			MedianNS: 100, Causes: []requests.Cause{{Cause: requests.CauseCompute,
				Text: "It computed for 900 ns (100.0 %): " + hostile + " 900 ns."}},
		},
		Sequences: &sequences.Sequences{
			ShortNS: 100_000, MaxOperations: 32, Runs: 3, RunOperations: 12, LeftOut: 2, Count: 5,
			Rows: []sequences.Sequence{
				{
					Operations: []string{"add", hostile, hostile, "relu"}, Count: 2, SumNS: 80, GapNS: 20,
					Share: op.KnownFloat(0.08), GapShare: op.KnownFloat(0.2),
					Streams: []sequences.Stream{{Key: cuda0, Stream: op.Known(7), Count: 2}},
				},
				{Operations: []string{"add", "mul"}, Count: 3, Streams: make([]sequences.Stream, 3)},
			},
		},
		Steps: []steps.Row{
			{Step: 0, Run: 1, Count: 3, SumNS: 500, WallNS: op.Known(600), BusyNS: op.Known(400)},
			{Step: 0, Run: 2, Count: 1, SumNS: 5},
			{Step: 0, Service: hostile, Run: 1, Count: 2, SumNS: 7},
		},
		WithoutSuspects: &analyze.WithoutSuspects{
			Total:      profile.Total{Count: 1, SumNS: 1_250},
			Operations: []profile.Operation{{Operation: "matmul", Stats: fewer}},
			Groups: []profile.Group{
				{Key: key.Group{Keys: keys, Values: []key.Value{{Text: "cuda:0", Known: true}, {}}}, Stats: fewer},
				{Key: key.Group{Keys: keys, Other: true}, Stats: host},
			},
			Devices: []profile.Device{
				{DeviceID: "cuda:0", Rank: op.Known(0), Count: 1, SumNS: 400, SpanNS: op.Known(500),
					BusyNS: op.Known(250)},
			},
			LoadBalance: &profile.Balance{Balance: seed.Balance{
				DeviceCount: 2, TotalDurationUS: 300, IdealDurationUS: 150, MaxDurationUS: 200, ImbalanceRatio: 0.3333,
			}},
			PathTotals: &path.Totals{Summary: path.Summary{Paths: 1, DurationNS: 400,
				BoundBy: path.BoundBy{ComputeNS: 400}}},
		},
		Utilisation: &timeline.Utilisation{
			TimeAxis: timeline.TimeAxis{WidthNS: 100, Buckets: 4},
			Devices:  []timeline.DeviceUtilisation{{Key: cuda0, BusyNS: []int64{0, 1, 50, 100}}},
		},
	}
}

// empty returns the report of an empty input.
func empty() *analyze.Report {
	r, err := analyze.Run(context.Background(), analyze.Records(func(func(op.Record, error) bool) {}),
		analyze.Options{})
	if err != nil {
		panic(err)
	}
	return r
}

func render(t *testing.T, r *analyze.Report, opts text.Options) string {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, text.Write(&b, r, opts))
	return b.String()
}

// goldens compares outputs with files of testdata.
func goldens(t *testing.T, all map[string]func(io.Writer) error) {
	t.Helper()
	for name, write := range all {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			check.OK(t, write(&b))
			golden.Check(t, filepath.Join("testdata", name+".txt"), b.Bytes())
		})
	}
}

func TestGolden(t *testing.T) {
	of := func(r *analyze.Report, opts text.Options) func(io.Writer) error {
		return func(w io.Writer) error { return text.Write(w, r, opts) }
	}
	goldens(t, map[string]func(io.Writer) error{
		"full":    of(full(), text.Options{}),
		"full_80": of(full(), text.Options{Width: 80, Rows: 2}),
		"color": of(full(),
			text.Options{Color: true, Show: func(s string) bool { return s == text.SectionOperations }}),
		"empty":    of(empty(), text.Options{}),
		"envelope": of(full(), text.Options{Show: func(string) bool { return false }}),
	})
}

// An overview has at most 30 lines of 80 columns, and requested sections behind them.
func TestOverview(t *testing.T) {
	host := empty()
	host.Input.Entries = 1
	host.Operations = []profile.Operation{{Operation: "aten::to",
		Stats: profile.Stats{Kind: "compute", Side: "host", Count: 1, SumNS: 5}}}
	many := full()
	many.Groups = nil
	for range 40 {
		many.Findings = append(many.Findings, many.Findings...)[:min(40, 2*len(many.Findings))]
		many.Operations = append(many.Operations[:1:1], many.Operations...)
		many.Devices = append(many.Devices, many.Devices[0])
		many.Input.Problems = append(many.Input.Problems, hostile)
	}
	for name, test := range map[string]struct {
		report *analyze.Report
		opts   text.Options
	}{
		"groups": {full(), text.Options{Show: func(s string) bool { return s == text.SectionMemory }}},
		"empty":  {empty(), text.Options{}},
		"host":   {host, text.Options{}},
		"many":   {many, text.Options{}},
		"rows":   {many, text.Options{Rows: 12, Width: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			check.OK(t, text.WriteOverview(&b, test.report, test.opts))
			lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			if test.opts.Rows == 0 && test.opts.Show == nil && len(lines) > 30 {
				t.Errorf("%d lines", len(lines))
			}
			for _, line := range lines {
				if test.opts.Width == 0 && termtext.Width(line) > 80 {
					t.Errorf("%d columns: %s", termtext.Width(line), line)
				}
			}
			golden.Check(t, filepath.Join("testdata", "overview_"+name+".txt"), b.String())
		})
	}
}

func TestWriteError(t *testing.T) {
	check.Says(t, "", "", text.Write(&fulldisk.Writer{}, empty(), text.Options{}))
	check.Says(t, "correlation", "", text.WriteCorrelation(&fulldisk.Writer{}, correlated(""), text.Options{}))
}

// For any names, the report has no character that controls a terminal.
func FuzzWrite(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		r := check.Must(analyze.Run(t.Context(), analyze.Records(func(yield func(op.Record, error) bool) {
			_ = yield(op.Record{Entry: e}, nil) && yield(op.Record{},
				&op.SyntaxError{File: e.Path, Line: 1, Msg: e.Error})
		}), analyze.Options{}))(t)
		got := render(t, r, text.Options{})
		if i := strings.IndexFunc(got, func(r rune) bool {
			return r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
		}); i >= 0 || !utf8.ValidString(got) {
			t.Errorf("a control character in %q", got[max(0, i-20):])
		}
	})
}

// The gaps of a recording are listed in lines that fit, except code, without control characters, in JSON too.
func FuzzWriteDoctor(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		r := check.Must(doctor.Run(t.Context(), analyze.Records(func(yield func(op.Record, error) bool) {
			_ = yield(op.Record{Entry: e}, nil) && yield(op.Record{},
				&op.SyntaxError{File: e.Path, Line: 1, Msg: e.Error})
		})))(t)
		check.Must(json.Marshal(r))(t)
		code := make(map[string]bool)
		for _, finding := range r.Findings {
			for _, line := range finding.Go {
				code[line] = true
			}
			if finding.Missing > finding.Count || finding.Missing < 0 {
				t.Errorf("%s: %d of %d", finding.Name, finding.Missing, finding.Count)
			}
		}
		var b strings.Builder
		check.OK(t, text.WriteDoctor(&b, r, text.Options{Width: 80}))
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			isControl := func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }
			if strings.ContainsFunc(line, isControl) || !utf8.ValidString(line) {
				t.Errorf("a control character in %q", line)
			}
			_, isCode := code[strings.TrimPrefix(strings.TrimPrefix(line, "  Go          "), "              ")]
			if termtext.Width(line) > 80 && !isCode && !strings.HasSuffix(line, ")") { // lines of attributes end so
				t.Errorf("a line of %d columns: %q", termtext.Width(line), line)
			}
		}
	})
}

var (
	screenField  = regexp.MustCompile(`(?m)^([a-z][a-z. ]{9}) (\S.*)$`)
	screenHead   = regexp.MustCompile(`(?m)^  (?:operation|device) {2,}(.*)$`)
	screenNumber = regexp.MustCompile(`[0-9](?:[0-9.,]*[0-9])?(?: (?:(?:[KMGT]?i?B|[kMGT]FLOP|s|ms|µs|ns)\b|%))?`)
	screenName   = regexp.MustCompile(`^[a-z_]+ N$|^(?:expected a value|red mul x) N$`)
	finding      = regexp.MustCompile(`(?m)^const \w+ Kind = "(.*)"$`)
)

// docs/analyses.md defines every figure of the first screen: in its lines, in the columns of its tables, and the kinds
// of findings.
func TestFirstScreenIsDefined(t *testing.T) {
	file := check.Must(os.ReadFile("../../docs/analyses.md"))(t)
	_, section, _ := strings.Cut(string(file), "\n## The first screen\n")
	section, _, _ = strings.Cut(section, "\n## ")
	numbers := make(map[string]bool)
	r := full()
	r.Groups = nil
	r.Total.StatedNS, r.Input.Entries = op.Known(1), r.Total.Count+1
	r.Input.EarlierBatches, r.Input.DroppedLinks, r.Input.MissingLinks = 1, 1, op.Known(1)
	var b bytes.Buffer
	check.OK(t, text.WriteOverview(&b, r, text.Options{Width: 500}))
	// all possible faults
	b.WriteString(render(t, r, text.Options{Width: 500, Show: func(string) bool { return false }}))
	for _, m := range screenField.FindAllStringSubmatch(b.String(), -1) {
		for part := range strings.FieldsFuncSeq(screenNumber.ReplaceAllString(m[2], "N"), func(r rune) bool {
			return strings.ContainsRune(",:;()", r)
		}) {
			if part = screenName.ReplaceAllString(strings.TrimSpace(part), "NAME N"); strings.Contains(part, "N") {
				numbers["`"+strings.TrimSpace(m[1])+": "+part+"`"] = true
			}
		}
	}
	for _, m := range screenHead.FindAllStringSubmatch(b.String(), -1) {
		for column := range strings.SplitSeq(m[1], "  ") {
			if column = strings.TrimSpace(column); column != "" {
				numbers["`"+column+"`"] = true
			}
		}
	}
	kinds := check.Must(os.ReadFile("../../docs/api/analyze_findings.txt"))(t)
	for _, m := range finding.FindAllStringSubmatch(string(kinds), -1) {
		if !regexp.MustCompile(`(?:\*\*|, )` + m[1] + `(?:\*\*|, )`).Match(file) {
			t.Errorf("docs/analyses.md lacks the finding %s", m[1])
		}
	}
	if len(numbers) < 40 {
		t.Errorf("only %d numbers are found", len(numbers))
	}
	for number := range numbers {
		if !strings.Contains(section, number) {
			t.Errorf("docs/analyses.md lacks %s", number)
		}
	}
}

// correlated returns a join with content for every section.
func correlated(jaeger string) *correlate.Report {
	j := correlate.NewJoin()
	for i := range byte(5) {
		id := op.TraceID{15: i + 1}
		slow := int64(1)
		if i == 2 {
			slow = 5
		}
		request := op.Record{Span: &op.Span{
			Name: "POST " + hostile, Service: "api", TraceID: id, SpanID: op.SpanID{7: 1},
			Start: op.Known(1795224124000000000), Duration: slow * 1_000_000,
		}}
		long := op.Record{Entry: &op.Entry{
			Operation: hostile, Kind: op.KindCompute, DeviceID: "cuda:0", Rank: op.Known(0), TraceID: id,
			SpanID: op.SpanID{7: 2}, ParentSpanID: op.SpanID{7: 1},
			Start: op.Known(1795224124000100000), Duration: slow * 800_000,
		}}
		short := op.Record{Entry: &op.Entry{
			Operation: "relu", Kind: op.KindCompute, DeviceID: "cuda:0", Rank: op.Known(1), TraceID: id,
			SpanID: op.SpanID{7: 3}, ParentSpanID: op.SpanID{7: 1}, Start: op.Known(1795224124000900000), Duration: 600,
		}}
		j.AddLocal(long)
		j.AddLocal(short)
		j.AddLocal(op.Record{Entry: &op.Entry{Operation: "warmup", Kind: op.KindCompute, TraceID: id,
			SpanID: op.SpanID{7: 9}, Duration: 7}})
		if jaeger == "" {
			j.AddLocal(request)
			continue
		}
		j.AddService(request)
		j.AddService(long)
		if i == 0 {
			j.AddPruned(op.Pruned{TraceID: id, SpanID: op.SpanID{7: 1}, Operation: "relu", DeviceID: "cuda:0", Count: 3,
				Duration: 1800})
		}
	}
	r := j.Report(correlate.Options{Jaeger: jaeger})
	r.Input = &analyze.Envelope{Files: 1, Bytes: 2048, Entries: 15, Truncated: 1}
	if jaeger != "" {
		r.LeftOut = correlate.LeftOut{Requests: 1, Ops: 2}
		r.Service = &correlate.Service{
			API: "v1", Traces: 5, AtLimit: true, NotThere: 1, NotAsked: 2,
			Envelope: analyze.Envelope{Entries: 5, Skipped: 5, Malformed: 1,
				Problems: []string{"http://jaeger: " + hostile}},
		}
	}
	return r
}

func none(string) bool { return false }

func TestCorrelationGolden(t *testing.T) {
	of := func(r *correlate.Report, opts text.Options) func(io.Writer) error {
		return func(w io.Writer) error { return text.WriteCorrelation(w, r, opts) }
	}
	goldens(t, map[string]func(io.Writer) error{
		"correlate_80": of(correlated("http://jaeger:16686"), text.Options{Top: 2, Width: 80, Rows: 2}),
		"correlate_links": of(correlated("http://jaeger:16686"),
			text.Options{Top: 2, Width: 120, Color: true, Hyperlinks: true}),
		"correlate_joined":   of(correlated("http://jaeger:16686"), text.Options{Top: 2}),
		"correlate_offline":  of(correlated(""), text.Options{Top: 10}),
		"correlate_color":    of(correlated(""), text.Options{Color: true}),
		"correlate_first":    of(correlated("http://jaeger:16686"), text.Options{Top: 10, FirstScreen: true, Show: none}),
		"correlate_left_out": of(&correlate.Report{LeftOut: correlate.LeftOut{Requests: 40, Ops: 45}}, text.Options{Top: 10}),
		"correlate_empty":    of(correlate.NewJoin().Report(correlate.Options{}), text.Options{Top: 10}),
	})
}

// Many endpoints do not make a long text, and those without operations are only listed. The first screen has 30 lines.
func TestCorrelationManyEndpoints(t *testing.T) {
	j := correlate.NewJoin()
	for i := range byte(9) {
		request := op.Span{Name: "GET /" + string('a'+rune(i)), TraceID: op.TraceID{i + 1}, SpanID: op.SpanID{1},
			Start: op.Known(0), Duration: 1000}
		j.AddLocal(op.Record{Span: &request})
		if i > 0 {
			j.AddLocal(op.Record{Entry: &op.Entry{Operation: "relu", TraceID: request.TraceID, SpanID: op.SpanID{2},
				ParentSpanID: op.SpanID{1}, Start: op.Known(0), Duration: 1}})
		}
	}
	var b bytes.Buffer
	check.OK(t, text.WriteCorrelation(&b, j.Report(correlate.Options{}), text.Options{}))
	if n := strings.Count(b.String(), "CRITICAL PATH"); n != 5 ||
		strings.Contains(b.String(), "CRITICAL PATH of GET /a") ||
		!strings.Contains(b.String(), "… and 3 more endpoints with operations, which took less time") {
		t.Errorf("%d endpoints in detail:\n%s", n, b.String())
	}
	b.Reset()
	check.OK(t, text.WriteCorrelation(&b, j.Report(correlate.Options{Findings: true}),
		text.Options{Top: 99, FirstScreen: true, Show: none}))
	if n := strings.Count(b.String(), "\n"); n > 30 || n < 20 || !strings.Contains(b.String(), "endpoint (3 of 9)") {
		t.Errorf("%d lines:\n%s", n, b.String())
	}
}

// compared returns a comparison of two runs, with an operation called name in the head.
func compared(tb testing.TB, name string) *diff.Report {
	tb.Helper()
	side := func(names []string, factor float64) []*diff.Run {
		var entries []*op.Entry
		at := int64(1_700_000_000_000_000_000)
		for step := range int64(40) {
			for i, name := range names {
				ns := 10_000 * float64(i+1) * (1 + 0.05*math.Sin(float64(step)*float64(i+2)))
				if i == 0 {
					ns *= factor
				}
				entries = append(entries, &op.Entry{
					Operation: name, DeviceID: "cuda:0", Rank: op.Known(3), Start: op.Known(at), Duration: int64(ns),
					Step: op.Known(step),
				})
				at += int64(ns)
			}
		}
		r := check.Must(analyze.Run(tb.Context(), analyze.Records(recordtest.Entries(entries...)),
			diff.ReportOptions(nil)))(tb)
		r.Input.Dropped = int64(len(names) - 3)
		run := check.Must(diff.NewRun("ops.jsonl", r, nil, true))(tb)
		return []*diff.Run{run}
	}
	names := []string{"matmul", "relu", "all_reduce"}
	return check.Must(diff.Compare(side(names, 1), side(append(names, name), 1.2), diff.Options{}))(tb)
}

func TestDiffGolden(t *testing.T) {
	hostile := compared(t, strings.Repeat("fused_", 30)+"\x1b[31m|\u202e")
	empty := check.Must(diff.Compare([]*diff.Run{{}}, []*diff.Run{{}}, diff.Options{}))(t)
	of := func(r *diff.Report, opts text.Options) func(io.Writer) error {
		return func(w io.Writer) error { return text.WriteDiff(w, r, opts) }
	}
	goldens(t, map[string]func(io.Writer) error{
		"diff":       of(hostile, text.Options{}),
		"diff_80":    of(hostile, text.Options{Width: 80, Rows: 2}),
		"diff_color": of(hostile, text.Options{Color: true, Width: 120}),
		"diff_empty": of(empty, text.Options{}),
	})
}

// For any names, no line is too wide or controls a terminal.
func FuzzWriteDiff(f *testing.F) {
	for _, name := range []string{"", "matmul", "\x1b]8;;x\x1b\\", strings.Repeat("x", 300), strings.Repeat("漢字", 15), "a\nb", "\xff"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		var b bytes.Buffer
		check.OK(t, text.WriteDiff(&b, compared(t, name), text.Options{Width: 80}))
		if !utf8.ValidString(b.String()) || strings.ContainsAny(b.String(), "\x1b\r\u202e") {
			t.Errorf("control characters in %q", b.String())
		}
	})
}
