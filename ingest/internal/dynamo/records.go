// Package dynamo reads the JSON Lines that NVIDIA Dynamo writes about forward passes (dynamo.fpm.trace.v1) and about
// requests (dynamo.request.trace.v1), alone or in the envelope of its files (ai-dynamo/dynamo, docs/observability).
//
// A forward pass becomes an operation of its worker with the numbers of requests and tokens in its batch; it is a step
// of the worker's data-parallel rank. A request becomes a span with the attributes that Dynamo's own spans have.
package dynamo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/optrace/optrace/ingest/internal/attrjson"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/read/marks"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/lineio"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// The schemas.
const (
	PassSchema    = "dynamo.fpm.trace.v1"
	RequestSchema = "dynamo.request.trace.v1"
)

// line is a record. In files it is the member event of an envelope. Its members may stand in a member of their own.
type line struct {
	Schema string
	Event  *line

	Source     struct{ Component string }
	Mode       string `json:"capture_mode"`
	ObservedMS int64  `json:"observed_at_unix_ms"` // behind the pass
	FPM        *pass
	pass

	EventType string `json:"event_type"`
	EndMS     int64  `json:"event_time_unix_ms"`
	Request   json.RawMessage
}

type pass struct {
	Worker    string  `json:"worker_id"`
	Rank      int64   `json:"dp_rank"`
	Counter   int64   `json:"counter_id"`
	Seconds   float64 `json:"wall_time"`
	Scheduled batch   `json:"scheduled_requests"`
	Queued    batch   `json:"queued_requests"`
}

type batch struct {
	Prefill       int64 `json:"num_prefill_requests"`
	PrefillTokens int64 `json:"sum_prefill_tokens"`
	Decode        int64 `json:"num_decode_requests"`
}

type reader struct {
	build *attrmap.Builder
	feed  *attrjson.Feeder
	name  string
	last  map[rank]lastPass
	lost  map[string]int64
	span  op.Span
}

type rank struct {
	component, worker string
	number            int64
}

// lastPass is the number and the end of a rank's last pass, 0 if unknown.
type lastPass struct{ number, end int64 }

const maxRanks = 1 << 16 // bounds the ranks whose passes are counted

// Records reads a file. name names src in errors, and m selects further attributes; nil is the conventions.
//
// A *[op.SyntaxError] is a bad line; any other error is the last value. A record's pointers are valid until the next one.
func Records(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		build := attrmap.NewBuilder(m)
		r := &reader{build: build, feed: attrjson.NewFeeder(build), name: name, last: make(map[rank]lastPass),
			lost: make(map[string]int64)}
		lines := lineio.NewReader(src, 0)
		for {
			l, err := lines.Next()
			if err == io.EOF {
				break
			}
			var rec op.Record
			switch {
			case err != nil:
				err = fmt.Errorf("reading lines: %w", err)
			case l.Text != nil && len(bytes.TrimSpace(l.Text)) == 0:
				continue
			default:
				rec, err = r.read(&l)
			}
			_, goesOn := errors.AsType[*op.SyntaxError](err)
			if !yield(rec, err) || err != nil && !goesOn {
				return
			}
		}
		for _, reason := range []string{sampled, missing} {
			if n := r.lost[reason]; n > 0 && !yield(op.Record{Gap: &op.Gap{Dropped: n, Reason: reason}}, nil) {
				return
			}
		}
	}
}

// The reasons for gaps in the numbers of passes: one is kept for an interval, or some are lost.
const (
	sampled = "sampled"
	missing = "counter_gap"
)

func (r *reader) read(l *lineio.Line) (rec op.Record, err error) {
	fault := func(offset int64, class op.ErrorClass, msg string) error {
		return &op.SyntaxError{File: r.name, Line: l.Number, Offset: l.Offset + offset, Msg: msg, Class: class,
			Truncated: class == op.ErrorSyntax && !l.Complete}
	}
	if l.Text == nil {
		return rec, fault(0, op.ErrorLimit, fmt.Sprintf("line longer than %d MiB", lineio.MaxLine>>20))
	}
	var v line
	if err := json.Unmarshal(l.Text, &v); err != nil {
		if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return rec, fault(bad.Offset, op.ErrorRecord, cmp.Or(bad.Field, "the record")+" is of a wrong type")
		}
		at := int64(len(l.Text))
		if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = max(0, bad.Offset-1)
		}
		return rec, fault(at, op.ErrorSyntax, err.Error())
	}
	if v.Event != nil {
		v = *v.Event
	}
	switch {
	case v.Schema == PassSchema:
		if v.FPM != nil {
			v.pass = *v.FPM
		}
		return r.forward(&v, fault)
	case v.Schema == RequestSchema && v.EventType == "request_end":
		return r.request(&v, fault)
	}
	return op.Record{Skipped: op.Skipped{Reason: op.SkipNonOp, N: 1}}, nil
}

type faultFunc func(offset int64, class op.ErrorClass, msg string) error

// forward makes the operation of a forward pass. A worker without work reports passes without requests.
func (r *reader) forward(v *line, fault faultFunc) (rec op.Record, err error) {
	p := &v.pass
	s := &p.Scheduled
	const mostSeconds = 1 << 32
	switch {
	case !(p.Seconds >= 0 && p.Seconds < mostSeconds):
		return rec, fault(0, op.ErrorRecord, "wall_time is no duration")
	case min(s.Prefill, s.Decode, s.PrefillTokens, p.Queued.Prefill, p.Queued.Decode) < 0:
		return rec, fault(0, op.ErrorRecord, "a negative number of requests")
	}
	duration := int64(math.Round(p.Seconds * 1e9))
	start := r.count(v, before(v.ObservedMS, duration), duration)
	name := "decode pass"
	phase := marks.Decode
	switch {
	case s.Prefill+s.Decode == 0:
		return op.Record{Skipped: op.Skipped{Reason: op.SkipMetadata, N: 1}}, nil
	case s.Decode == 0:
		name = "prefill pass"
		phase = marks.Prefill
	case s.Prefill > 0:
		name = "mixed pass"
		phase = marks.Mixed
	}
	b := r.build
	b.Reset()
	b.Str(attrkey.Name, name)
	b.Str(attrkey.Device, "worker:"+p.Worker)
	b.Int("dynamo.queued_prefill_requests", p.Queued.Prefill)
	b.Int("dynamo.queued_decode_requests", p.Queued.Decode)
	if start.Known {
		b.SetTime(start, duration)
	} else {
		b.SetDuration(duration)
	}
	e, _ := b.Entry() // an operation, for it has a name
	e.Kind = op.KindCompute
	e.KindRule = op.RuleAttribute
	e.Service = scalar.ValidUTF8(v.Source.Component)
	e.Rank = op.Int{V: p.Rank, Known: p.Rank >= 0}
	e.Step = op.Int{V: p.Counter, Known: p.Counter >= 0}
	e.StepName = fmt.Sprintf("forward pass: %d prefill (%d tokens), %d decode (%d tokens)", s.Prefill, s.PrefillTokens,
		s.Decode, s.Decode)
	e.Phase = phase
	return op.Record{Entry: e}, nil
}

const perMS = 1_000_000 // ns

// before returns the Unix nanoseconds a duration before Unix milliseconds, unknown for 0.
func before(ms, duration int64) op.Int {
	if ms <= 0 || ms > math.MaxInt64/perMS {
		return op.Int{}
	}
	return opfile.UnixTime(ms*perMS, -duration)
}

// count counts the passes of a rank that are not in the file. It returns the start of this one: not before the end of
// the last, whose time is known to a millisecond.
func (r *reader) count(v *line, start op.Int, duration int64) op.Int {
	key := rank{v.Source.Component, v.Worker, v.Rank}
	last, known := r.last[key]
	if !known && len(r.last) == maxRanks {
		return start
	}
	if start.Known && start.V < last.end && last.end-start.V < perMS {
		start.V = last.end
	}
	r.last[key] = lastPass{v.Counter, opmodel.AddSaturating(start.V, duration)}
	if known && v.Counter-last.number > 1 && last.number >= 0 {
		reason := missing
		if v.Mode == sampled {
			reason = sampled
		}
		r.lost[reason] = opmodel.AddSaturating(r.lost[reason], v.Counter-last.number-1)
	}
	return start
}

// request makes the span of a request. Its members are the attributes.
func (r *reader) request(v *line, fault faultFunc) (rec op.Record, err error) {
	var q struct {
		ID         string  `json:"request_id"`
		ReceivedMS int64   `json:"request_received_ms"`
		TotalMS    float64 `json:"total_time_ms"`
	}
	if json.Unmarshal(v.Request, &q) != nil || q.ID == "" {
		return rec, fault(0, op.ErrorRecord, "request without an id")
	}
	duration := before(max(0, v.EndMS-q.ReceivedMS), 0).V
	const mostMS = 1 << 42
	if q.TotalMS > 0 && q.TotalMS < mostMS {
		duration = int64(math.Round(q.TotalMS * 1e6))
	}
	b := r.build
	b.Reset()
	b.SetName(requestName)
	var l lexer.Lexer
	l.Reset(v.Request)
	for l.Object(); l.More(); {
		if key := l.Key(); string(key) == "replay" { // hashes of the prompt
			l.Skip()
		} else {
			r.feed.Member(&l, key)
		}
	}
	r.span = op.Span{Name: requestName, TraceID: traceOf(q.ID), SpanID: op.SpanID{7: 1},
		Start: before(q.ReceivedMS, 0), Duration: duration}
	if r.span.Start.V > math.MaxInt64-duration {
		r.span.Start = op.Int{}
	}
	b.FillSpan(&r.span)
	return op.Record{Span: &r.span}, nil
}

// traceOf returns the trace of a request: its id if that is a UUID, else a hash of it.
func traceOf(request string) (id op.TraceID) {
	if id, ok := op.ParseTraceID([]byte(strings.ReplaceAll(request, "-", ""))); ok && !id.IsZero() {
		return id
	}
	h := fnv.New128a()
	_, _ = io.WriteString(h, request) // does not fail
	h.Sum(id[:0])
	return id
}

const requestName = "http-request" // the name of the spans of requests of Dynamo's frontend
