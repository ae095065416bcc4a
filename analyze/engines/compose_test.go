package engines_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/causes"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// The contents of recordings of a server, beside counts.
const (
	plain   = iota
	coarse  // times in milliseconds
	chunked // prompts are read in two parts
	timed   // the times to the first token, and in the queue
	lossy   // a request is missing
	cached  // a part of a prompt came from a cache, and no attribute says so
	kinds
)

// unlinked returns the records of a server with counts in place of links, and the requests and tokens of its steps.
func unlinked(records []op.Record, kind int) (told []op.Record, truth map[op.SpanID][]string) {
	truth = make(map[op.SpanID][]string)
	type request struct{ in, out, began, first int64 }
	requests := make(map[op.TraceID]*request)
	missed := false
	for _, rec := range records {
		if rec.Span == nil || rec.Span.Links == nil {
			continue
		}
		s := *rec.Span
		var prompts, tokens, decodes int64
		var parts, half []string
		for _, l := range s.Links {
			q := requests[l.TraceID]
			if q == nil {
				q = &request{in: l.Weight.V, began: s.Start.V, first: s.Start.V + s.Duration}
				requests[l.TraceID] = q
				prompts++
				tokens += l.Weight.V
				half = append(half, fmt.Sprint(l.TraceID, l.Weight.V/3))
			} else {
				decodes++
			}
			q.out++
			parts = append(parts, fmt.Sprint(l.TraceID, l.Weight.V))
		}
		s.Links = nil
		if kind == chunked && prompts == 1 && tokens > 9 {
			part := s
			part.SpanID[0] = 7
			part.Duration = s.Duration / 3
			s.Start.V += part.Duration
			s.Duration -= part.Duration
			part.Name = fmt.Sprintf("execute_context_1(%d)_generation_0(0)", tokens/3)
			truth[part.SpanID] = half
			told = append(told, op.Record{Span: &part})
			for i, l := range rec.Span.Links {
				if fmt.Sprint(l.TraceID, l.Weight.V/3) == half[0] && l.Weight.V > 1 {
					parts[i] = fmt.Sprint(l.TraceID, l.Weight.V-l.Weight.V/3)
				}
			}
			tokens -= tokens / 3
		}
		if kind == cached && prompts > 0 && !missed {
			missed = true
			tokens -= tokens / 2
		}
		s.Name = fmt.Sprintf("execute_context_%d(%d)_generation_%d(%d)", prompts, tokens, decodes, decodes)
		truth[s.SpanID] = parts
		told = append(told, op.Record{Span: &s})
	}
	for _, rec := range records {
		if rec.Span == nil || requests[rec.Span.TraceID] == nil {
			continue
		}
		s := *rec.Span
		q := requests[s.TraceID]
		attr := func(key, value string) { s.Attrs = append(s.Attrs, op.Attr{Key: key, Value: value}) }
		attr("gen_ai.usage.input_tokens", strconv.FormatInt(q.in, 10))
		attr("gen_ai.usage.output_tokens", strconv.FormatInt(q.out, 10))
		if kind == timed {
			attr("gen_ai.latency.time_to_first_token", fmt.Sprintf("%.9f", float64(q.first+30_000-s.Start.V)/1e9))
			attr("gen_ai.latency.time_in_queue", fmt.Sprintf("%.9f", float64(q.began-10_000-s.Start.V)/1e9))
		}
		if kind != lossy || len(told)%100 != 50 {
			told = append(told, op.Record{Span: &s})
		}
	}
	for _, rec := range told {
		const ms = 1_000_000
		if s := rec.Span; kind == coarse {
			end := (s.Start.V + s.Duration) / ms * ms
			if s.Attrs != nil {
				s.Start.V = s.Start.V / ms * ms
				end = s.Start.V + s.Duration
			} else {
				s.Start.V = end - s.Duration
			}
			s.Duration = end - s.Start.V
		}
	}
	return told, truth
}

// A batch told from counts has the requests and tokens of the removed links.
func TestBatchesToldFromCountsAreThoseOfLinks(t *testing.T) {
	var sums [kinds]engines.Composition
	for seed := range cases.Numbers(t, 300) {
		kind := int(seed/6) % kinds
		records, _ := causes.Serve([]string{"", "long_prompt", "overload"}[seed%3], causes.ServerLayouts[seed%2],
			0.1+0.1*float64(seed%5), seed, -1)
		told, truth := unlinked(records, kind)
		f := trace.New()
		f.KeepAttrs(engines.Keys()...)
		for _, rec := range told {
			f.Add(rec)
		}
		c := engines.Compose(f)
		all := &sums[kind]
		all.Steps += c.Steps
		all.Told += c.Told
		all.Ambiguous += c.Ambiguous
		all.Unmatched += c.Unmatched
		for i := range f.Executions.List {
			e := &f.Executions.List[i]
			var got []string
			for k, r := range e.Requests {
				got = append(got, fmt.Sprint(f.Node(r).TraceID(), e.Weights[k]))
			}
			want := truth[f.Node(e.Row).SpanID()]
			slices.Sort(got)
			slices.Sort(want)
			check.Equal(t, fmt.Sprint("kind ", kind, " seed ", seed, " step ", i), want, got)
		}
		check.Equal(t, "told", c.Told, int64(len(f.Executions.List)))
	}
	for kind, c := range sums {
		t.Logf("%d: %+v", kind, c)
		if least := []int64{90, 95, 70, 99, 0, 0}[kind]; cases.All() && 100*c.Told < least*c.Steps {
			t.Errorf("kind %d: %d of %d steps are told", kind, c.Told, c.Steps)
		}
	}
}

// Passes of a worker, as Dynamo records them, and the reasons against telling their batches.
func TestWhatTellsBatches(t *testing.T) {
	const ms = 1_000_000
	for name, test := range map[string]struct {
		change func(i int, rec *op.Record)
		want   *engines.Composition
	}{
		"all": {func(int, *op.Record) {}, &engines.Composition{Steps: 4, Told: 4, Engines: 1}},
		"two workers": {func(i int, rec *op.Record) { rec.Entry.DeviceID = fmt.Sprint("worker:", i%2) },
			&engines.Composition{Steps: 4, Unmatched: 0, Engines: 2}},
		"recorded links": {func(_ int, rec *op.Record) {
			rec.Entry.Links = []op.Link{{TraceID: op.TraceID{1}, SpanID: op.SpanID{1}}}
		}, nil},
		"several tokens a step": {func(_ int, rec *op.Record) {
			rec.Entry.StepName = "execute_context_0(0)_generation_1(3)"
		}, nil},
		"kernels of steps":     {func(_ int, rec *op.Record) { rec.Entry.Step = op.Known(7) }, nil},
		"steps without counts": {func(i int, rec *op.Record) { rec.Entry.StepName = fmt.Sprint("step ", i) }, nil},
		"tokens that are missing": {func(i int, rec *op.Record) {
			if i == 3 {
				rec.Entry.StepName = "forward pass: 0 prefill (0 tokens), 2 decode (2 tokens)"
			}
		}, &engines.Composition{Steps: 4, Unmatched: 4, Engines: 1}},
		"counts that add up by overflow": {func(i int, rec *op.Record) {
			n := []int64{0, math.MaxInt64, math.MaxInt64, 5}[i]
			before, _, _ := strings.Cut(rec.Entry.StepName, ",")
			rec.Entry.StepName = fmt.Sprintf("%s, %d decode (%d tokens)", before, n, n)
		}, &engines.Composition{Steps: 4, Unmatched: 4, Engines: 1}},
	} {
		f := trace.New()
		f.KeepAttrs(engines.Keys()...)
		for i, counts := range []string{"1 prefill (5", "1 prefill (9", "0 prefill (0", "0 prefill (0"} {
			rec := op.Record{Entry: &op.Entry{
				Operation: "pass", Kind: op.KindCompute, DeviceID: "worker:a", Step: op.Known(int64(i)),
				Start: op.Known(int64(1e18 + 10*ms*i)), Duration: 9 * ms,
				StepName: fmt.Sprintf("forward pass: %s tokens), %d decode (%d tokens)", counts, min(i, 1), min(i, 1)),
			}}
			test.change(i, &rec)
			f.Add(rec)
		}
		for i, tokens := range [][2]string{{"5", "2"}, {"9", "3"}} {
			f.Add(op.Record{Span: &op.Span{Name: "http-request", TraceID: op.TraceID{byte(i + 1)}, SpanID: op.SpanID{1},
				Start: op.Known(int64(1e18 + 2*ms*i)), Duration: int64(20+30*i) * ms, Attrs: []op.Attr{
					{Key: "ttft_ms", Value: fmt.Sprint(10 + 10*i)}, {Key: "input_tokens", Value: tokens[0]},
					{Key: "output_tokens", Value: tokens[1]}}}})
		}
		check.Equal(t, name, test.want, engines.Compose(f))
	}
}

// A request with three times the tokens is not slow at three times the time.
func TestTokensExplainTheTimeOfARequest(t *testing.T) {
	for tokens, want := range map[int64]int64{10: 200, 20: 100, 30: 0} {
		f := trace.New()
		f.KeepAttrs(engines.Keys()...)
		for i := range byte(5) {
			out, ns := int64(10), int64(100)
			if i == 4 {
				out, ns = tokens, 300
			}
			f.AddSpan(&op.Span{Name: "chat", TraceID: op.TraceID{1 + i}, SpanID: op.SpanID{1}, Duration: ns,
				Attrs: []op.Attr{{Key: "gen_ai.request.model", Value: "m"},
					{Key: "gen_ai.usage.output_tokens", Value: strconv.FormatInt(out, 10), Type: op.AttrInt}}})
		}
		check.Equal(t, "beyond", want, engines.Find(f, nil, key.Filter{}).Rows(10)[0].Slow.BeyondNS)
	}
}
