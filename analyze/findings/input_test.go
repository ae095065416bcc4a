package findings_test

import (
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/op"
)

// Requests without operations have their time in spans. Time without any span is none of theirs.
func TestServicesNameTheirSpans(t *testing.T) {
	span := func(name string, trace, id, parent byte, start, end int64) op.Record {
		return op.Record{Span: &op.Span{
			Name: name, TraceID: op.TraceID{trace}, SpanID: op.SpanID{id}, ParentSpanID: op.SpanID{parent},
			Start: op.Known(start * 1e6), Duration: (end - start) * 1e6,
		}}
	}
	got := found(t, span("GET /a", 1, 1, 0, 1000, 1100), span("SELECT", 1, 2, 1, 1010, 1080),
		span("GET /a", 2, 3, 0, 1200, 1220), span("tick", 2, 4, 9, 9000, 9030))
	const want = "The critical paths of 2 requests take 150 ms, mostly in SELECT (70.0 ms, 46.7 %, 1 call), " +
		"GET /a (50.0 ms, 33.3 %, 2 calls), tick (30.0 ms, 20.0 %, 1 call)."
	if got[0].Text != want {
		t.Errorf("%s, want %s", got[0].Text, want)
	}
}

// Without operations, the finding names the likely cause.
func TestEmptyInputNamesItsCause(t *testing.T) {
	const shutdown = " Call Shutdown before os.Exit or log.Fatal"
	for _, test := range []struct {
		name string
		in   findings.Input
		want string
	}{
		{
			"an empty file", findings.Input{Files: 1},
			"The input is empty: the program ended before anything was flushed." + shutdown,
		},
		{
			"a header", findings.Input{Files: 1, Bytes: 57, Formats: []string{"entries-jsonl"}},
			"The recording holds no operations: ",
		},
		{
			"an empty profile", findings.Input{Files: 1, Bytes: 18, Formats: []string{"chrome"}},
			"The profile has no event with a duration",
		},
		{"a window", findings.Input{}, "Nothing came in. Record with"},
		{
			"spans", findings.Input{Files: 1, Bytes: 9, Spans: 2, Formats: []string{"otlp-json"}},
			"2 spans came in, none of them an operation",
		},
		{
			"a profile of others", findings.Input{Files: 1, Bytes: 9, Spans: 2, Formats: []string{"chrome"}},
			"2 spans came in, none of them an operation: those of PyTorch, ",
		},
		{
			"runtime calls", findings.Input{Files: 1, Bytes: 9, Spans: 2, Formats: []string{"nsys"}},
			"2 spans came in, none of them an operation: the export has no kernels, ",
		},
		{
			"samples of the CPU", findings.Input{Files: 1, Bytes: 9, Formats: []string{"nsys"}},
			"No span came in: the export has no kernels, ",
		},
		{
			"a trace of a runtime", findings.Input{Files: 1, Bytes: 9, Spans: 2, Formats: []string{"perfetto"}},
			"2 spans came in, none of them an operation: the trace has no operations of a device",
		},
		{
			"filtered",
			findings.Input{Files: 1, Bytes: 9, Spans: 2, SkippedBy: map[string]int64{string(op.SkipFiltered): 2}},
			"2 operations came in, and none",
		},
	} {
		got := findings.Of(&findings.Facts{Input: test.in})
		if len(got) != 1 || !strings.HasPrefix(got[0].Text, test.want) {
			t.Errorf("%s: %v, want %s", test.name, got, test.want)
		}
	}
}
