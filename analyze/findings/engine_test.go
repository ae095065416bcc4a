package findings_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/op"
)

// engineStep is a step of an engine that works for all of its requests.
type engineStep struct {
	weight int64 // of each request, 0 for none
	phase  string
	rows   int64 // of its product, 0 for unknown shapes
	ns     int64
}

// served returns the records of an engine that serves three requests at a time: each for some steps, and the first ones
// for first if it is not nil.
func served(first, steps []engineStep, rounds int) (records []op.Record) {
	const requests = 3
	at := int64(1_000_000_000)
	number := byte(0)
	for round := range rounds {
		var ids [requests]op.TraceID
		began := at
		for i := range ids {
			number++
			ids[i] = op.TraceID{number, 1}
		}
		now := steps
		if round == 0 && first != nil {
			now = first
		}
		for _, s := range now {
			records = append(records, s.records(op.TraceID{byte(at >> 24), byte(at >> 16), byte(at >> 8), 2}, ids[:], at)...)
			at += s.ns + 20_000
		}
		for _, id := range ids {
			records = append(records, op.Record{Span: &op.Span{
				Name: "POST /generate", Service: "server", TraceID: id, SpanID: op.SpanID{1},
				Start: op.Known(began - 1_000), Duration: at - began,
			}})
		}
	}
	return records
}

func (s engineStep) records(id op.TraceID, requests []op.TraceID, at int64) []op.Record {
	span := &op.Span{
		Name: "step", Service: "server", TraceID: id, SpanID: op.SpanID{2}, Start: op.Known(at), Duration: s.ns + 10_000,
	}
	for _, request := range requests {
		link := op.Link{TraceID: request, SpanID: op.SpanID{1}}
		if s.weight > 0 {
			link.Weight = op.Known(s.weight)
		}
		span.Links = append(span.Links, link)
	}
	e := &op.Entry{
		Operation: "mul_mat", Kind: op.KindCompute, DeviceID: "cpu", Service: "server", Phase: s.phase,
		Start: op.Known(at + 5_000), Duration: s.ns, TraceID: id, ParentSpanID: span.SpanID, SpanID: op.SpanID{3},
	}
	if s.rows > 0 {
		e.OutputElements = op.Known(s.rows * 64)
		e.FLOPs = op.Known(2 * s.rows * 64 * 64)
	}
	return []op.Record{{Span: span}, {Entry: e}}
}

// A step of an engine is start-up only beside steps with as much work, and its gain is the time the requests waited.
// Calls in steps of unlike load do not have the same work.
func TestStepsOfAnEngineAreComparedByTheirWork(t *testing.T) {
	const ms = 1_000_000
	repeat := func(first, then engineStep, n int) []engineStep {
		steps := []engineStep{first}
		for range n {
			steps = append(steps, then)
		}
		return steps
	}
	decode := engineStep{weight: 1, phase: "decode", rows: 3, ns: 8 * ms}
	for _, test := range []struct {
		name       string
		first      []engineStep // of the first requests, steps if nil
		steps      []engineStep
		rounds     int // 1 unless stated
		rule, says string
	}{
		{name: "a prompt first, by weight",
			steps: repeat(engineStep{weight: 100, ns: 48 * ms}, engineStep{weight: 1, ns: 8 * ms}, 20)},
		{name: "a prompt first, by shapes",
			steps: repeat(engineStep{rows: 300, ns: 48 * ms}, engineStep{rows: 3, ns: 8 * ms}, 20)},
		{name: "a prompt first, by phase", steps: repeat(engineStep{phase: "prefill", weight: 1, ns: 48 * ms},
			engineStep{phase: "decode", weight: 1, ns: 8 * ms}, 20)},
		{name: "a first step of unknown work", steps: repeat(engineStep{ns: 48 * ms}, engineStep{ns: 8 * ms}, 20)},
		{
			name: "slow first requests", rounds: 6,
			first: repeat(decode, decode, 80), steps: repeat(decode, decode, 20),
			rule: "warm_up", says: "The first POST /generate takes",
		},
		{
			name: "first requests with a long prompt", rounds: 6, steps: repeat(decode, decode, 20),
			first: repeat(engineStep{weight: 400, phase: "prefill", rows: 1200, ns: 640 * ms}, decode, 20),
		},
		{
			name: "start-up before prompts of unknown work", rounds: 12,
			first: []engineStep{{ns: 400 * ms}, {ns: 8 * ms}}, steps: []engineStep{{ns: 48 * ms}, {ns: 8 * ms}},
			rule: "warm_up", says: "takes 400 ms, the median of 11 others that begin requests, too, 48.0 ms",
		},
		{
			name: "start-up", steps: repeat(engineStep{weight: 1, phase: "decode", rows: 3, ns: 80 * ms}, decode, 20),
			rule: "warm_up", says: "takes 80.0 ms, the median of 20 others with at least half of its work 8.01 ms",
		},
		{
			name: "padded batches", rounds: 6, steps: []engineStep{
				{weight: 1, rows: 64, ns: 2 * ms}, {weight: 20, rows: 64, ns: 21 * ms},
				{weight: 1, rows: 64, ns: 2 * ms}, {weight: 1, rows: 64, ns: 2 * ms}, {weight: 1, rows: 64, ns: 2 * ms},
			},
		},
		{
			name: "slow calls with like load", rounds: 6, steps: []engineStep{{weight: 1, rows: 64, ns: 2 * ms},
				{weight: 1, rows: 64, ns: 21 * ms}, {weight: 1, rows: 64, ns: 2 * ms}, {weight: 1, rows: 64, ns: 2 * ms}},
			rule: "uneven_calls", says: "mul_mat takes 2.00 ms at the median and up to 21.0 ms for the same work",
		},
		{
			name: "slow calls of unknown work", rounds: 6, rule: "uneven_calls",
			steps: append(repeat(engineStep{weight: 100, ns: 48 * ms}, engineStep{weight: 1, ns: 8 * ms}, 20),
				engineStep{weight: 1, ns: 200 * ms}),
			says: "mul_mat takes up to 200 ms in 6 of 131 calls, where the load of the step explains 8.00 ms",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := only(found(t, served(test.first, test.steps, max(1, test.rounds))...), "warm_up", "uneven_calls")
			if f.Rule != test.rule || !strings.Contains(f.Text, test.says) {
				t.Errorf("%s: %q, want %s: %q", f.Rule, f.Text, test.rule, test.says)
			}
			if 2*f.SavedHighNS.V > f.OfNS.V && f.Rule == "warm_up" {
				t.Errorf("gain up to %d of %d", f.SavedHighNS.V, f.OfNS.V)
			}
		})
	}
}

// only returns the first finding with one of the rules, if any.
func only(all []findings.Finding, rules ...string) findings.Finding {
	if i := slices.IndexFunc(all, func(f findings.Finding) bool { return slices.Contains(rules, f.Rule) }); i >= 0 {
		return all[i]
	}
	return findings.Finding{}
}
