package main

import (
	"context"
	"errors"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/op"
)

// fetch asks Jaeger for traces and hands them to a join.
type fetch struct {
	client *jaeger.Client
	wanted *wanted
	join   *correlate.Join
	counts *analyze.Input
	about  correlate.Service
}

func newFetch(client *jaeger.Client, w *wanted, join *correlate.Join) *fetch {
	w.traces = make(map[op.TraceID]struct{})
	return &fetch{client: client, wanted: w, join: join, counts: analyze.NewInput()}
}

// service describes the questions and the answers.
func (f *fetch) service() *correlate.Service {
	f.about.API = f.client.API()
	f.about.Envelope = f.counts.Envelope()
	return &f.about
}

// all asks for the one trace that is wanted, or else searches and then asks for
// the traces of the local batch that the search did not find.
func (f *fetch) all(ctx context.Context) error {
	flags := f.wanted.flags
	if flags.trace != "" {
		return f.trace(ctx, flags.traceID)
	}
	if flags.service != "" {
		if err := f.search(ctx); err != nil {
			return err
		}
	}
	return f.lookUp(ctx)
}

func (f *fetch) search(ctx context.Context) error {
	flags, now := f.wanted.flags, f.wanted.now
	query := jaeger.Query{
		Service: flags.service, Operation: flags.operation,
		Start: now.Add(-flags.since), End: now,
		MinDuration: flags.minDuration, Limit: flags.limit,
	}
	for t, err := range f.client.Search(ctx, query) {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax):
			f.counts.Add(op.Record{}, syntax)
		case err != nil:
			return err
		default:
			f.add(t)
		}
	}
	f.about.AtLimit = f.about.Traces == int64(flags.limit)
	return nil
}

// lookUp asks for the traces of the local requests that are wanted and not yet
// there, the latest first, up to the limit.
func (f *fetch) lookUp(ctx context.Context) error {
	list := f.join.LocalRequests().List
	for i := len(list) - 1; i >= 0; i-- {
		q := &list[i]
		if _, asked := f.wanted.traces[q.TraceID]; asked || q.TraceID.IsZero() || !f.wanted.local(q) {
			continue
		}
		if len(f.wanted.traces) >= f.wanted.flags.limit {
			f.about.NotAsked++
			continue
		}
		if err := f.trace(ctx, q.TraceID); err != nil {
			return err
		}
	}
	return nil
}

// trace asks for one trace.
func (f *fetch) trace(ctx context.Context, id op.TraceID) error {
	f.wanted.traces[id] = struct{}{}
	t, problems, err := f.client.Trace(ctx, id)
	for _, p := range problems {
		f.counts.Add(op.Record{}, p)
	}
	var syntax *op.SyntaxError
	switch {
	case errors.Is(err, jaeger.ErrTraceNotFound):
		f.about.NotThere++
	case errors.As(err, &syntax):
		f.counts.Add(op.Record{}, syntax)
	case err != nil:
		return err
	default:
		f.add(t)
	}
	return nil
}

// add hands a trace to the join.
func (f *fetch) add(t *jaeger.Trace) {
	f.wanted.traces[t.ID] = struct{}{}
	f.about.Traces++
	for _, e := range t.Entries {
		f.record(op.Record{Entry: e})
	}
	for i := range t.Spans {
		f.record(op.Record{Span: &t.Spans[i]})
	}
	for _, p := range t.Pruned {
		f.join.AddPruned(p)
	}
}

func (f *fetch) record(rec op.Record) {
	f.counts.Add(rec, nil)
	f.join.AddService(rec)
}
