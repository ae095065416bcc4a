package analyze

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/launch"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

type event struct {
	rec op.Record
	err error
}

func entryEvent(warn op.Warning, adjusted float64) event {
	return event{rec: op.Record{Entry: &op.Entry{Operation: "a", Warn: warn, AdjustedCount: adjusted}}}
}

func batchEvent(writer string, seq, entries int64) event {
	return event{rec: op.Record{Batch: &op.Batch{Writer: writer, Sequence: seq, Entries: entries}}}
}

func syntaxEvent(file string, line int64, msg string, truncated bool) event {
	return event{err: &op.SyntaxError{File: file, Line: line, Msg: msg, Truncated: truncated}}
}

// envelopeOf returns the envelope of a file of 100 bytes, with members in JSON.
func envelopeOf(t *testing.T, members string) Envelope {
	t.Helper()
	e := Envelope{
		Files: 1, Bytes: 100, Formats: []string{"entries-jsonl"}, Sampling: SamplingNone, Problems: []string{},
		Warnings: map[string]int64{}, SkippedBy: map[string]int64{},
		MalformedBy: map[string]int64{}, DroppedBy: map[string]int64{},
	}
	check.OK(t, json.Unmarshal([]byte("{"+members+"}"), &e))
	return e
}

func TestEnvelopeCountsRecords(t *testing.T) {
	for _, tc := range []struct {
		name   string
		events []event
		want   string // members in JSON that are not those of an empty file
	}{
		{"nothing", nil, ""},
		{"a record without content", []event{{}}, ""},
		{"the end", []event{{err: io.EOF}}, ""},
		{"entries with warnings", []event{
			entryEvent(0, 0), entryEvent(op.WarnBadShape|op.WarnNegativeDuration, 0), entryEvent(op.WarnBadShape, 0),
		}, `"entries":3,"spans":3,"warnings":{"bad_shape":2,"neg_duration":1}`},
		{"spans are skipped, other records are no spans", []event{
			entryEvent(0, 0),
			{rec: op.Record{Span: &op.Span{Name: "request"}}},
			{rec: op.Record{Skipped: op.Skipped{Reason: op.SkipNonOp, N: 2}}},
			{rec: op.Record{Skipped: op.Skipped{Reason: op.SkipOtherSignal, N: 5}}},
			{rec: op.Record{Skipped: op.Skipped{Reason: op.SkipUnknownRecord, N: 1}}},
		}, `"entries":1,"spans":4,"skipped":3,"skipped_by":{"non_op":3,"other_signal":5,"unknown_record":1}`},
		{"a sampler", []event{
			{rec: op.Record{Resource: &op.Resource{Attrs: []op.Attr{{Key: attrkey.Sampler,
				Value: "TraceIDRatioBased{0.1}"}}}}},
			{rec: op.Record{Resource: &op.Resource{}}}, entryEvent(0, 0),
		}, `"entries":1,"spans":1,"sampling":"unknown","sampler":"TraceIDRatioBased{0.1}"`},
		{"a sampler and its weights", []event{
			{rec: op.Record{Resource: &op.Resource{Attrs: []op.Attr{{Key: attrkey.Sampler, Value: "Probability"}}}}},
			entryEvent(0, 10),
		}, `"entries":1,"spans":1,"sampling":"known","sampler":"Probability"`},
		{"gaps", []event{
			{rec: op.Record{Gap: &op.Gap{Dropped: 7, Reason: "queue_full"}}},
			{rec: op.Record{Gap: &op.Gap{Dropped: 1}}},
			{rec: op.Record{Gap: &op.Gap{Dropped: -5, Reason: "queue_full"}}},
		}, `"dropped":8,"dropped_by":{"queue_full":7,"unknown":1}`},
		{"unreadable records", []event{
			syntaxEvent("b.jsonl", 9, "expected a value, found 'x'", false),
			{err: &op.SyntaxError{File: "a.jsonl", Line: 3, Msg: "expected a value, found 'y'",
				Class: op.ErrorDamaged}},
			syntaxEvent("b.jsonl", 10, "unexpected end of JSON text", true),
			{err: fmt.Errorf("reading: %w", io.ErrUnexpectedEOF)},
			{err: errors.New("disk on fire")},
		}, `"malformed":3,"truncated":2,"malformed_by":{"syntax":1,"damaged":1,"other":1},
			"problems":["a.jsonl:3: expected a value, found 'y' (at byte 0)",
			"b.jsonl:9: expected a value, found 'x' (at byte 0)",
			"b.jsonl:10: unexpected end of JSON text (at byte 0)"]`},
		{"all weighted", []event{entryEvent(0, 2), entryEvent(0, 1)}, `"entries":2,"spans":2,"sampling":"known"`},
		{"some weighted", []event{entryEvent(0, 2), entryEvent(0, 0)}, `"entries":2,"spans":2,"sampling":"unknown"`},
		{"holes in the batches of each writer", []event{
			batchEvent("a", 0, 0), batchEvent("b", 5, 0), batchEvent("a", 3, 0), batchEvent("b", 6, 0),
		}, `"missing_batches":2,"earlier_batches":5`},
		{"announced entries", []event{
			batchEvent("a", 0, 3), entryEvent(0, 0), entryEvent(0, 0), batchEvent("a", 1, 1), entryEvent(0, 0),
		}, `"entries":3,"spans":3,"missing_entries":1`},
		{"numbers beyond reason", []event{
			batchEvent("a", 0, math.MaxInt64), batchEvent("a", 1, math.MaxInt64), batchEvent("a", 2, -9),
			{rec: op.Record{Gap: &op.Gap{Dropped: math.MaxInt64}}}, {rec: op.Record{Gap: &op.Gap{Dropped: 5}}},
		}, `"missing_entries":9223372036854775807,"dropped":9223372036854775807,
			"dropped_by":{"unknown":9223372036854775807}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := newCounter()
			for _, ev := range tc.events {
				in.add(ev.rec, ev.err)
			}
			in.endFile("entries-jsonl", 100)
			check.Equal(t, "", envelopeOf(t, tc.want), in.envelope())
		})
	}
}

// Surplus entries of one file do not compensate missing entries of another.
func TestInputCountsMissingEntriesByFile(t *testing.T) {
	in := newCounter()
	in.add(batchEvent("a", 0, 5).rec, nil)
	in.endFile("entries-jsonl", 10)
	for range 9 {
		in.add(entryEvent(0, 0).rec, nil)
	}
	in.endFile("otlp-json", 10)
	got := in.envelope()
	if got.MissingEntries != 5 || got.Entries != 9 {
		t.Errorf("%d missing of %d, want 5 of 9", got.MissingEntries, got.Entries)
	}
	check.Equal(t, "", []string{"entries-jsonl", "otlp-json"}, got.Formats)
}

func randomEvent(r *rand.Rand, file, i int) event {
	switch r.IntN(8) {
	case 0:
		return event{rec: op.Record{Span: &op.Span{}}}
	case 1:
		return batchEvent(fmt.Sprint("writer", r.IntN(3)), r.Int64N(40), r.Int64N(20))
	case 2:
		return event{rec: op.Record{Gap: &op.Gap{Dropped: r.Int64N(9), Reason: fmt.Sprint(r.IntN(2 * maxReasons))}}}
	case 3:
		return syntaxEvent(fmt.Sprint(file), int64(i), fmt.Sprint("reason ", r.IntN(2*maxReasons)), r.IntN(3) == 0)
	case 4:
		return event{rec: op.Record{Skipped: op.Skipped{Reason: op.SkipOtherSignal, N: r.Int64N(3)}}}
	}
	return entryEvent(op.Warning(r.Uint32()&0x7fff), float64(r.IntN(2)))
}

// Times in a wrong unit are recognised; times of another clock are not.
func TestTimeUnitOfStarts(t *testing.T) {
	const ms = 1_764_359_584_123
	for _, test := range []struct {
		name     string
		format   string
		starts   []int64
		duration int64 // of the first two; others take 5 µs
		want     string
	}{
		{"milliseconds", "entries-jsonl", []int64{ms, ms + 5}, 5, "milliseconds"},
		{"seconds", "otlp-json", []int64{ms / 1000, ms/1000 + 5}, 0, "seconds"},
		{"microseconds", "otlp-proto", []int64{ms * 1000, ms*1000 + 5000}, 500, "microseconds"},
		{"nanoseconds", "entries-jsonl", []int64{ms * 1_000_000}, 5, ""},
		{"one of them in nanoseconds", "entries-jsonl", []int64{ms, ms * 1_000_000}, 5, "milliseconds"},
		{"since the host started, and one in Unix time", "entries-jsonl", []int64{ms, ms * 1_000_000}, 20_000, ""},
		{"no start of one", "entries-jsonl", []int64{ms, 0}, 5, ""},
		{"since the host started", "entries-jsonl", []int64{ms, ms + 5_000_000}, 20_000, ""},
		{"since the host started, two of them short", "entries-jsonl", []int64{ms, ms + 5, ms + 9, ms + 11, ms + 12},
			999, ""},
		{"of a profiler", "chrome", []int64{ms, ms + 5}, 5, ""},
		{"of two units", "entries-jsonl", []int64{ms, ms / 1000}, 5, ""},
		{"from 0", "entries-jsonl", []int64{1000, 2000}, 5, ""},
	} {
		in := newCounter()
		for i, start := range test.starts {
			d := test.duration
			if i >= 2 {
				d = 5_000
			}
			in.add(op.Record{Entry: &op.Entry{Operation: "relu", Start: op.Int{V: start, Known: start != 0},
				Duration: d}}, nil)
		}
		in.endFile(test.format, 1)
		check.Equal(t, test.name, test.want, in.envelope().TimeUnit)
	}
}

// Parts of an input merge to the same mistakes as the whole, in any order.
func TestMistakesMerge(t *testing.T) {
	whole := new(mistakes)
	entries := []*op.Entry{
		{Operation: "mm", InputShapes: []op.Shape{{5, 7}, {11, 3}}, Start: op.Known(7), Duration: 3},
		{Operation: "mm", InputShapes: []op.Shape{{5, 7}, {11, 13}}, Start: op.Known(5), Duration: 1},
		{Operation: "mm", InputShapes: []op.Shape{{5, 7}, {7, 13}}},
		{Operation: "relu", Start: op.Known(9)},
	}
	for _, e := range entries {
		whole.add(e)
	}
	check.Equal(t, "whole", mistakes{Products: 2, Product: "mm [5 7] × [11 13]", Early: 3, First: 5, Last: 9,
		EarlyShort: 3}, *whole)
	merged := new(mistakes)
	for _, i := range rand.Perm(len(entries)) {
		part := new(mistakes)
		part.add(entries[i])
		merged.merge(part)
	}
	check.Equal(t, "merged", *whole, *merged)
}

// The model that a resource names has peaks, up to the next resource; a kernel's name decides between TF32 and f32.
func TestModelsHavePeaks(t *testing.T) {
	model := func(name string) op.Record {
		return op.Record{Resource: &op.Resource{Attrs: []op.Attr{{Key: attrkey.HardwareModel, Value: name}}}}
	}
	mm := func(name, device string, side op.Side) op.Record {
		return op.Record{Entry: &op.Entry{Operation: name, Kind: op.KindCompute, DeviceID: device, Side: side,
			Duration: 1e6, Start: op.Known(0), FLOPs: op.Known(2 << 33), DType: op.F32,
			InputShapes: []op.Shape{{2048, 2048}, {2048, 2048}}, OutputShape: op.Shape{2048, 2048},
			InputDTypes: []op.DType{op.F32, op.F32}}}
	}
	c := newCollector(Options{})
	for _, rec := range []op.Record{
		mm("matmul", "cuda:0", 0), model("NVIDIA H100 80GB HBM3"), mm("gemm", "cuda:0", 0), mm("mm", "cpu", 0),
		mm("aten::mm", "cpu", op.SideHost), model("Some GPU"), mm("linear", "cuda:0", 0),
	} {
		c.add(rec, nil)
	}
	r := mergeCollectors(newCollector(Options{}), c).report()
	check.Equal(t, "models", []string{"NVIDIA H100 80GB HBM3", "Some GPU"}, r.Headline.Models)
	for _, o := range r.Operations {
		if has := o.Roofline != nil; has != (o.Operation == "gemm") {
			t.Errorf("%s: roofline %+v", o.Operation, o.Roofline)
		}
	}
	if len(r.Peaks) != 1 || r.Peaks[0].Model != "NVIDIA H100 80GB HBM3" || r.Headline.Arithmetic != "" {
		t.Errorf("peaks %+v, arithmetic %q", r.Peaks, r.Headline.Arithmetic)
	}
}

// Gaps of profiles are work that is missing, and no operations dropped. Coverage joins them with the recorded work.
func TestCoverageJoinsGapsOfParts(t *testing.T) {
	part := func(rank int64) *collector {
		c := newCollector(Options{})
		for _, rec := range []op.Record{
			{Resource: &op.Resource{Rank: op.Known(rank), WorldSize: op.Known(8)}},
			{Entry: &op.Entry{Operation: "gemm", Kind: op.KindCompute, DeviceID: "cuda:0", Rank: op.Known(rank),
				Start: op.Known(20), Duration: 5, Launch: op.Known(10), AdjustedCount: 4}},
			{Gap: &op.Gap{Dropped: 3, Reason: "launch_without_operation"}},
			{Gap: &op.Gap{Dropped: 2, Reason: "graph_launch_without_operation"}},
			{Gap: &op.Gap{Dropped: 1, Reason: "captured_launch"}}, {Gap: &op.Gap{Dropped: 1, Reason: "queue_full"}},
		} {
			c.add(rec, nil)
		}
		return c
	}
	r := mergeCollectors(part(0), part(1)).report()
	check.Equal(t, "coverage", &launch.Coverage{
		Launches: 14, LaunchesWithoutOperation: 10, LaunchesCaptured: 2, GraphReplays: 4, Ranks: 2,
		WorldSize: op.Known(8), SampledShare: op.KnownFloat(0.25),
		Corrected: &launch.Correction{Refused: "launches of kernels are missing too"},
	}, r.Coverage)
	check.Equal(t, "dropped", map[string]int64{"queue_full": r.Input.Dropped}, r.Input.DroppedBy)
}
