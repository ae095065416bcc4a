package text_test

import (
	"bytes"
	"cmp"
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
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/analyze/doctor"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/profile"
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

// fixture returns a report of testdata.
func fixture[R any](name string) *R {
	r := new(R)
	text, err := os.ReadFile("testdata/" + name + ".json")
	if err = cmp.Or(err, json.Unmarshal(text, r)); err != nil {
		panic(err)
	}
	return r
}

// full returns a report with content for every section, with names like [hostile].
func full() *analyze.Report { return fixture[analyze.Report]("full") }

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
	check.Says(t, "correlation", "", text.WriteCorrelation(&fulldisk.Writer{}, offline(), text.Options{}))
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

// offline and joined return reports on requests with content for every section, without Jaeger and with it.
func offline() *correlate.Report { return fixture[correlate.Report]("offline") }
func joined() *correlate.Report  { return fixture[correlate.Report]("joined") }

func none(string) bool { return false }

func TestCorrelationGolden(t *testing.T) {
	of := func(r *correlate.Report, opts text.Options) func(io.Writer) error {
		return func(w io.Writer) error { return text.WriteCorrelation(w, r, opts) }
	}
	goldens(t, map[string]func(io.Writer) error{
		"correlate_80": of(joined(), text.Options{Top: 2, Width: 80, Rows: 2}),
		"correlate_links": of(joined(),
			text.Options{Top: 2, Width: 120, Color: true, Hyperlinks: true}),
		"correlate_joined":   of(joined(), text.Options{Top: 2}),
		"correlate_offline":  of(offline(), text.Options{Top: 10}),
		"correlate_color":    of(offline(), text.Options{Color: true}),
		"correlate_first":    of(joined(), text.Options{Top: 10, FirstScreen: true, Show: none}),
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

func TestBatchesFromCounts(t *testing.T) {
	for want, c := range map[string]*engines.Composition{
		"": nil,
		"570 of 570 without links follow from the tokens and times of requests": {Steps: 570, Told: 570, Engines: 1},
		"4 of 9 without links follow from the tokens and times of requests; 3 fit several requests; 2 do not add up to the " +
			"tokens of requests": {Steps: 9, Told: 4, Ambiguous: 3, Unmatched: 2, Engines: 1},
		"0 of 9 without links follow from the tokens and times of requests; requests do not say which of 2 engines ran them": {
			Steps: 9, Engines: 2},
	} {
		var b bytes.Buffer
		check.OK(t, text.WriteCorrelation(&b, &correlate.Report{Composed: c}, text.Options{Width: 200}))
		got := ""
		for line := range strings.Lines(b.String()) {
			if rest, ok := strings.CutPrefix(line, "batches"); ok {
				got = strings.TrimSpace(rest)
			}
		}
		check.Equal(t, "batches", want, got)
	}
}
