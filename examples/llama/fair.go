package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/contrib/ggml"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

// rounds is how often each run is repeated. The least time of each operation counts, which other programs change least.
const rounds = 6

// mix is requests that are worked for together: the lengths of their prompts and answers.
type mix []struct{ prompt, tokens int }

// parts are those of a mix that run: all, all but the first, and the first alone.
var parts = [...]func(mix) mix{func(m mix) mix { return m }, func(m mix) mix { return m[1:] }, func(m mix) mix { return m[:1] }}

// recording is what was recorded of some requests, the operations by start.
type recording struct {
	operations []*op.Entry
	spans      []*op.Span
}

// fairness compares the prices of requests with what leaving them out saves.
type fairness struct {
	dir   string
	sdk   *optrace.SDK // of the run under way
	model *model
}

// Recorder records to the run under way.
func (f *fairness) Recorder(ctx context.Context) *optrace.Recorder {
	return f.sdk.Processor().Recorder(ctx)
}

// measureFairness measures n random mixes. The price that is due to the first request of each is what leaving it out saves, and an equal
// part of what is fixed: of the time that all take less than the first alone and the others alone.
func measureFairness(ctx context.Context, n, threads int, out io.Writer) (err error) {
	f := &fairness{}
	if f.dir, err = os.MkdirTemp("", "fair-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(f.dir)) }()
	if f.model, err = loadModel(ctx, threads, f, ggml.EveryOperation, out); err != nil {
		return err
	}
	defer f.model.close()
	r := rand.New(rand.NewPCG(36, 5))
	var one, two []float64
	for range n {
		x := make(mix, 2+r.IntN(maxSequences-1))
		for i := range x {
			x[i].prompt, x[i].tokens = 1+r.IntN(maxPrompt/2), 1+r.IntN(32)
		}
		var least [len(parts)]*recording
		for range rounds {
			for i, of := range parts {
				if least[i], err = f.repeat(ctx, of(x), least[i]); err != nil {
					return err
				}
			}
		}
		all, others, alone := least[0].sum(""), least[1].sum(""), least[2].sum("")
		fixed := alone + others - all
		due := all - others + fixed/float64(len(x))
		by2 := least[0].price()
		for _, s := range least[0].spans {
			for i := range s.Links {
				s.Links[i].Attention = op.Int{}
			}
		}
		by1 := least[0].price()
		one, two = append(one, math.Abs(by1/due-1)), append(two, math.Abs(by2/due-1))
		fmt.Fprintf(out, "%v: %.1f ms, %.0f %% attention, %.1f fixed; due %.1f, by one weight %.1f, by two %.1f\n",
			x, all/1e6, 100*least[0].sum("FLASH_ATTN_EXT")/all, fixed/1e6, due/1e6, by1/1e6, by2/1e6)
	}
	for by, off := range map[string][]float64{"one weight ": one, "two weights": two} {
		slices.Sort(off)
		fmt.Fprintf(out, "prices by %s are off by %.1f %% (median of %d; quartiles %.1f and %.1f %%)\n",
			by, 100*off[n/2], n, 100*off[n/4], 100*off[n*3/4])
	}
	return nil
}

// repeat runs requests, and returns the run with the least times of it and of those before.
func (f *fairness) repeat(ctx context.Context, x mix, before *recording) (*recording, error) {
	file := filepath.Join(f.dir, "run.jsonl")
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var err error
	if f.sdk, err = optrace.Setup(file, optrace.WithoutGlobalProvider()); err != nil {
		return nil, err
	}
	e := newEngine(f.sdk, f.model)
	var batch []*sequence
	var requests []trace.Span
	for i, q := range x {
		ctx, span := e.tracer.Start(ctx, fmt.Sprintf("request %d", i))
		e.expect(ctx)
		s := &sequence{ctx: ctx, id: i, input: make([]byte, q.prompt), left: q.tokens, done: make(chan struct{})}
		e.enter(s, "prefill")
		batch, requests = append(batch, s), append(requests, span)
	}
	for len(batch) > 0 && err == nil {
		if err = e.step(batch); err == nil {
			batch, err = e.leave(batch)
		}
	}
	for _, span := range requests {
		span.End()
	}
	if err := errors.Join(err, f.sdk.Shutdown(ctx)); err != nil {
		return nil, err
	}
	this := &recording{}
	for rec, err := range ingest.Open(file).Records() {
		switch {
		case err != nil:
			return nil, err
		case rec.Entry != nil:
			this.operations = append(this.operations, rec.Entry.Clone())
		case rec.Span != nil:
			this.spans = append(this.spans, rec.Span.Clone())
		}
	}
	slices.SortFunc(this.operations, func(a, b *op.Entry) int { return cmp.Compare(a.Start.V, b.Start.V) })
	if before != nil && len(before.operations) != len(this.operations) {
		return nil, fmt.Errorf("%d operations, and %d in another run", len(this.operations), len(before.operations))
	}
	for i, e := range this.operations {
		if before != nil {
			e.Duration = min(e.Duration, before.operations[i].Duration)
		}
	}
	return this, nil
}

// sum returns the nanoseconds of the operations of a name, "" for all.
func (r *recording) sum(name string) (ns float64) {
	for _, e := range r.operations {
		if name == "" || e.Operation == name {
			ns += float64(e.Duration)
		}
	}
	return ns
}

// price returns the nanoseconds that the first request has a part of.
func (r *recording) price() float64 {
	join := correlate.NewJoin()
	for _, s := range r.spans {
		join.AddLocal(op.Record{Span: s})
	}
	for _, e := range r.operations {
		join.AddLocal(op.Record{Entry: e})
	}
	for _, q := range join.Report(correlate.Options{}).Requests {
		if q.Root == "request 0" {
			return float64(q.SharedNS)
		}
	}
	return math.NaN()
}
