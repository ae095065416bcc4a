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
	*correlateFlags
	client *jaeger.Client
	join   *correlate.Join
	about  correlate.Service
	yield  func(op.Record, error) bool
	done   bool // yield has returned false
}

func (f *correlateFlags) readService(ctx context.Context, client *jaeger.Client,
	join *correlate.Join) (*correlate.Service, error) {
	f.asked = make(map[op.TraceID]struct{})
	from := &fetch{correlateFlags: f, client: client, join: join}
	env, err := analyze.Read(ctx, analyze.Records(func(yield func(op.Record, error) bool) {
		from.yield = yield
		if err := from.all(ctx); err != nil {
			from.emit(op.Record{}, err)
		}
	}), join.AddService)
	if err != nil {
		return nil, err
	}
	from.about.API = client.API()
	from.about.Envelope = *env
	return &from.about, nil
}

// emit yields a record, or the error of an unreadable one, unless the consumer has stopped.
func (f *fetch) emit(rec op.Record, err error) {
	if !f.done {
		f.done = !f.yield(rec, err)
	}
}

// all asks for the one requested trace. Otherwise it searches, then asks for local traces that the search did not find.
func (f *fetch) all(ctx context.Context) error {
	if f.trace != "" {
		return f.fetchTrace(ctx, f.traceID)
	}
	if f.service != "" {
		if err := f.search(ctx); err != nil {
			return err
		}
	}
	return f.lookUp(ctx)
}

func (f *fetch) search(ctx context.Context) error {
	query := jaeger.Query{
		Service: f.service, Operation: f.operation, Start: f.now.Add(-f.since), End: f.now,
		MinDuration: f.minDuration, Limit: f.limit,
	}
	for t, err := range f.client.Search(ctx, query) {
		if err := f.add(t, err); err != nil {
			return err
		}
	}
	f.about.AtLimit = f.about.Traces == int64(f.limit)
	return nil
}

// lookUp asks for the traces of wanted local requests and of their executions, latest requests first, up to the limit.
func (f *fetch) lookUp(ctx context.Context) error {
	list := f.join.LocalRequests(f.service).List
	for i := len(list) - 1; i >= 0; i-- {
		q := &list[i]
		if q.TraceID.IsZero() || !f.wantsLocal(q) {
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

// lookUpTrace asks for one trace unless this was done before or the limit is reached.
func (f *fetch) lookUpTrace(ctx context.Context, id op.TraceID) error {
	if _, asked := f.asked[id]; asked {
		return nil
	}
	if len(f.asked) >= f.limit {
		f.about.NotAsked++
		return nil
	}
	return f.fetchTrace(ctx, id)
}

func (f *fetch) fetchTrace(ctx context.Context, id op.TraceID) error {
	f.asked[id] = struct{}{}
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

// add adds a trace, or the error of an unreadable one.
func (f *fetch) add(t *jaeger.Trace, err error) error {
	if syntax, ok := errors.AsType[*op.SyntaxError](err); ok {
		f.emit(op.Record{}, syntax)
		return nil
	}
	if err != nil {
		return err
	}
	f.asked[t.ID] = struct{}{}
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
