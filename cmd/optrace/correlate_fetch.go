package main

import (
	"context"
	"errors"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/op"
)

type fetch struct {
	client *jaeger.Client
	wanted *wanted
	join   *correlate.Join
	about  correlate.Service
	yield  func(op.Record, error) bool
	done   bool // yield has returned false
}

// readService adds the traces of Jaeger that are wanted to the join.
func readService(ctx context.Context, client *jaeger.Client, w *wanted, join *correlate.Join) (*correlate.Service, error) {
	w.traces = make(map[op.TraceID]struct{})
	f := &fetch{client: client, wanted: w, join: join}
	env, err := analyze.Read(ctx, analyze.Records(func(yield func(op.Record, error) bool) {
		f.yield = yield
		if err := f.all(ctx); err != nil {
			f.emit(op.Record{}, err)
		}
	}), join.AddService)
	if err != nil {
		return nil, err
	}
	f.about.API = client.API()
	f.about.Envelope = *env
	return &f.about, nil
}

// emit yields a record, or the error of one that could not be read, unless no
// more are wanted.
func (f *fetch) emit(rec op.Record, err error) {
	if !f.done {
		f.done = !f.yield(rec, err)
	}
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
		if err := f.add(t, err); err != nil {
			return err
		}
	}
	f.about.AtLimit = f.about.Traces == int64(flags.limit)
	return nil
}

// lookUp asks for the traces of the local requests that are wanted and for those of
// the executions that work for them, as far as they are not yet there, the latest
// requests first, up to the limit.
func (f *fetch) lookUp(ctx context.Context) error {
	list := f.join.LocalRequests().List
	for i := len(list) - 1; i >= 0; i-- {
		q := &list[i]
		if q.TraceID.IsZero() || !f.wanted.local(q) {
			continue
		}
		if err := f.lookUpTrace(ctx, q.TraceID); err != nil {
			return err
		}
		for e := range q.Executions() {
			if err := f.lookUpTrace(ctx, e.TraceID); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookUpTrace asks for one trace unless that has been done or the limit is reached.
func (f *fetch) lookUpTrace(ctx context.Context, id op.TraceID) error {
	if _, asked := f.wanted.traces[id]; asked {
		return nil
	}
	if len(f.wanted.traces) >= f.wanted.flags.limit {
		f.about.NotAsked++
		return nil
	}
	return f.trace(ctx, id)
}

func (f *fetch) trace(ctx context.Context, id op.TraceID) error {
	f.wanted.traces[id] = struct{}{}
	t, problems, err := f.client.Trace(ctx, id)
	for _, p := range problems {
		f.emit(op.Record{}, p)
	}
	if errors.Is(err, jaeger.ErrTraceNotFound) {
		f.about.NotThere++
		return nil
	}
	return f.add(t, err)
}

// add adds a trace, or the error of one that could not be read.
func (f *fetch) add(t *jaeger.Trace, err error) error {
	if syntax, ok := errors.AsType[*op.SyntaxError](err); ok {
		f.emit(op.Record{}, syntax)
		return nil
	}
	if err != nil {
		return err
	}
	f.wanted.traces[t.ID] = struct{}{}
	f.about.Traces++
	for _, e := range t.Entries {
		f.emit(op.Record{Entry: e}, nil)
	}
	for i := range t.Spans {
		f.emit(op.Record{Span: &t.Spans[i]}, nil)
	}
	for _, p := range t.Pruned {
		f.join.AddPruned(p)
	}
	return nil
}
