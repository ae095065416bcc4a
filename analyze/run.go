package analyze

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Source is an input, such as an *ingest.Input.
type Source interface {
	// Read calls read for every part of the input, in workers goroutines at once. Files and parts are numbered from 0
	// in input order, parts across files. worker is the number of the goroutine. An unreadable record is an
	// [*op.SyntaxError] in records. Read stops early after an error from read and returns the error of the first part.
	Read(workers int, read func(worker int, file, part int64, records iter.Seq2[op.Record, error]) error) error
	// Files yields the format and stored size of each file read, in input order.
	Files() iter.Seq2[string, int64]
}

// wanter is a Source that accepts the needs of its reader before it is read.
type wanter interface{ Want(attr.Want) }

type holder interface {
	// Hold adds bytes, which may be negative, to the memory in use. An error ends the reading.
	Hold(bytes int64) error
}

// Run reads src and returns its report. Files of partial results count as the files they were made from, see [Partial].
// Unreadable records and damaged partial results are counted in [Report].Input. Run returns any other error of src, an
// error for partial results made with other options, and the cause of ctx when ctx is done.
// It may be called concurrently for different sources.
func Run(ctx context.Context, src Source, opts Options) (*Report, error) {
	var steady *steps.Steady
	if opts.Steady {
		var err error
		if steady, err = findSteady(ctx, src, &opts); err != nil {
			return nil, err
		}
	}
	c, err := collect(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	r, err := c.reportUntil(ctx)
	if err != nil {
		return nil, err
	}
	if steady != nil {
		r.Steady = steady
	}
	return r, nil
}

// ErrNotSteady means that the input has no steady state.
var ErrNotSteady = errors.New("no steady state: it takes at least eight steps in a row without a change of level")

// findSteady returns the steady state of an input and sets a filter for it in opts.
func findSteady(ctx context.Context, src Source, opts *Options) (*steps.Steady, error) {
	filter := opts.Filter
	amend := opts.Amend
	c, err := collectBy(ctx, src, opts.Workers, attr.Want{Keep: opts.attrs()}, func() *collector {
		return &collector{counter: newCounter(), forest: trace.New(), opts: Options{Filter: filter, Amend: amend}}
	})
	if err != nil {
		return nil, err
	}
	steady := steps.SteadyOf(steps.Rows(c.forest))
	if steady == nil {
		return nil, ErrNotSteady
	}
	if below := c.forest.BelowSteps(); len(below) > 0 {
		opts.Amend = func(e *op.Entry) {
			if amend != nil {
				amend(e)
			}
			if !e.Step.Known {
				e.Step = below[trace.SpanRef{Trace: e.TraceID, Span: e.SpanID}]
			}
		}
	}
	opts.Filter = func(e *op.Entry) bool {
		return e.Step.Known && steady.Holds(e.Service, e.Step.V) && (filter == nil || filter(e))
	}
	return steady, nil
}

func collect(ctx context.Context, src Source, opts Options) (*collector, error) {
	return collectBy(ctx, src, opts.Workers, opts.Want(), func() *collector { return newCollector(opts) })
}

// collectBy reads src with n workers, each with its own collector, and merges the collectors.
func collectBy(
	ctx context.Context, src Source, n int, want attr.Want, newCollector func() *collector,
) (*collector, error) {
	workers := make([]*collector, cmp.Or(max(0, n), runtime.GOMAXPROCS(0)))
	for i := range workers {
		workers[i] = newCollector()
		if h, ok := src.(holder); ok {
			workers[i].held.Hold = h.Hold
		}
	}
	if s, ok := src.(wanter); ok {
		s.Want(want)
	}
	err := src.Read(len(workers), func(worker int, file, part int64, records iter.Seq2[op.Record, error]) error {
		w := workers[worker]
		w.startPart(file, part)
		return w.addAll(ctx, records)
	})
	if err != nil {
		return nil, err
	}
	c := mergeCollectors(workers...)
	c.counter.endFiles(src.Files())
	return c, nil
}

// Read reads src in input order, calls f with every readable record, and returns the counts of the input.
// A record is valid until f returns. Errors are as for [Run].
func Read(ctx context.Context, src Source, f func(op.Record)) (*Envelope, error) {
	in := newCounter()
	err := src.Read(1, func(_ int, file, _ int64, records iter.Seq2[op.Record, error]) error {
		in.startFile(file)
		return each(ctx, records, func() error { return nil }, func(rec op.Record, err error) {
			in.add(rec, err)
			if err == nil {
				f(rec)
			}
		})
	})
	if err != nil {
		return nil, err
	}
	in.endFiles(src.Files())
	env := in.envelope()
	return &env, nil
}

// ReadForest reads src with the given number of goroutines, 0 for GOMAXPROCS, and returns its structure and counts.
// The forest keeps the span attributes in keep, for [trace.Forest.Attr], and the attributes of engines.
// Errors are as for [Run].
func ReadForest(ctx context.Context, src Source, workers int, keep ...string) (*trace.Forest, *Envelope, error) {
	c, err := collectBy(ctx, src, workers, attr.Want{Keep: keep, Spans: engines.Keys()}, func() *collector {
		c := &collector{counter: newCounter(), forest: trace.New()}
		c.forest.KeepAttrs(slices.Concat(keep, engines.Keys())...)
		return c
	})
	if err != nil {
		return nil, nil, err
	}
	env := c.counter.envelope()
	return c.forest, &env, nil
}

// Records returns a Source of records from elsewhere than files, such as from an [entries.Reader].
func Records(records iter.Seq2[op.Record, error]) Source { return recordSource(records) }

type recordSource iter.Seq2[op.Record, error]

func (s recordSource) Read(_ int, read func(int, int64, int64, iter.Seq2[op.Record, error]) error) error {
	return read(0, 0, 0, iter.Seq2[op.Record, error](s))
}

func (s recordSource) Files() iter.Seq2[string, int64] { return func(func(string, int64) bool) {} }

// checkInterval is the number of records between checks of the context and the memory. Records with long texts
// are checked after longPerCheck, because stored substrings may retain the whole text.
const (
	checkInterval = 1 << 10
	longPerCheck  = 4
)

// each calls f with every record or its [op.SyntaxError], and check from time to time. It returns the first other
// error.
func each(
	ctx context.Context, records iter.Seq2[op.Record, error], check func() error, f func(op.Record, error),
) error {
	n := 0
	look := func() error {
		n = 0
		return cmp.Or(context.Cause(ctx), check())
	}
	for rec, err := range records {
		if n++; n >= checkInterval {
			if err := look(); err != nil {
				return err
			}
		}
		if profile.LongRecord(&rec) {
			profile.CutTexts(&rec)
			n += checkInterval / longPerCheck
		}
		if err != nil {
			if _, ok := errors.AsType[*op.SyntaxError](err); !ok {
				return err
			}
			rec = op.Record{}
		}
		f(rec, err)
	}
	return look()
}

type collector struct {
	counter *counter
	profile *profile.Profile // nil if only the structure is wanted
	forest  *trace.Forest    // nil if neither structure nor local roots are wanted
	opts    Options
	works   work.Finder
	held    budget.Account
	// partials counts files of partial results read. partialBytes is the approximate memory of the one being read.
	partials, partialBytes int64
}

func newCollector(opts Options) *collector {
	c := &collector{
		counter: newCounter(),
		profile: profile.New(opts.sums()),
		opts:    opts,
		works:   work.NewFinder(opts.RecordedFLOPs, opts.Peaks),
	}
	if !opts.SumsOnly || slices.ContainsFunc(opts.By, key.Key.NeedsTree) {
		c.forest = trace.New()
		c.forest.MaxDevices = c.profile.Options().MaxGroups
		if opts.KeepForest {
			c.forest.KeepShapes()
		}
		c.forest.GroupBy(opts.By)
		if opts.wantsEngines() {
			c.forest.KeepAttrs(engines.Attrs(opts.By, opts.Where)...)
		}
	}
	return c
}

// hold reports the memory of c to the source.
func (c *collector) hold() error {
	n := c.partialBytes
	if c.profile != nil {
		n += c.profile.Bytes()
	}
	if c.forest != nil {
		n += c.forest.Bytes()
	}
	return c.held.Set(n, 1)
}

// startPart begins a part of a file. Each part goes to one collector.
func (c *collector) startPart(file, part int64) {
	c.counter.startFile(file)
	c.works.SetModel("")
	if c.profile != nil {
		c.profile.StartPart(part)
	}
	if c.forest != nil {
		c.forest.StartPart(part)
	}
}

func (c *collector) addAll(ctx context.Context, records iter.Seq2[op.Record, error]) error {
	var failed error
	err := each(ctx, records, c.hold, func(rec op.Record, err error) {
		if rec.Partial != nil && c.profile != nil && err == nil && failed == nil {
			failed = c.addPartial(rec.Partial)
			return
		}
		if rec.Entry != nil && err == nil && c.opts.Amend != nil {
			c.opts.Amend(rec.Entry)
		}
		if rec.Entry != nil && err == nil && c.opts.Filter != nil && !c.opts.Filter(rec.Entry) {
			c.leaveOut(rec)
			return
		}
		if rec.Entry != nil && err == nil && rec.Skipped.N == 0 { // nearly all records
			c.counter.addEntry(rec.Entry)
			c.addEntry(rec.Entry)
			return
		}
		c.add(rec, err)
	})
	return cmp.Or(failed, err)
}

// leaveOut counts a filtered operation and keeps its place in the tree as a plain span.
func (c *collector) leaveOut(rec op.Record) {
	e := rec.Entry
	rec.Entry = nil
	c.counter.add(rec, nil)
	c.counter.inFile.entries++
	c.counter.skip(op.SkipFiltered, 1)
	if c.forest != nil && !e.ParentSpanID.IsZero() {
		c.forest.AddSpan(&op.Span{
			Name: e.Operation, TraceID: e.TraceID, SpanID: e.SpanID, ParentSpanID: e.ParentSpanID,
			Start: e.Start, Duration: e.Duration, Service: e.Service, Failed: e.Failed, Links: e.Links,
		})
	}
}

// add adds a record, or the error in its place.
func (c *collector) add(rec op.Record, err error) {
	c.counter.add(rec, err)
	switch {
	case err != nil:
	case rec.Entry != nil:
		c.addEntry(rec.Entry)
	case rec.Resource != nil:
		c.works.SetModel(modelOf(rec.Resource))
	case rec.Total != nil && c.profile != nil:
		c.profile.AddStated(rec.Total)
	case rec.Call != nil && c.forest != nil:
		c.forest.AddCall(rec.Call)
	case rec.Span != nil && c.forest != nil:
		c.forest.AddSpan(rec.Span)
	}
}

func (c *collector) addEntry(e *op.Entry) {
	w := c.works.Entry(e)
	if c.profile != nil {
		c.profile.AddWork(e, w)
	}
	if c.forest != nil {
		c.forest.AddOp(e, w)
	}
}

// mergeCollectors merges the collectors of workers into the first. The others become unusable: their forests are
// emptied while merging, which needs little more memory than the forests together.
func mergeCollectors(workers ...*collector) *collector {
	c := workers[0]
	var forests []*trace.Forest
	for _, o := range workers[1:] {
		c.counter.merge(o.counter)
		for arithmetic, flops := range o.works.Used {
			if c.works.Used == nil {
				c.works.Used = make(work.Used)
			}
			c.works.Used[arithmetic] += flops
		}
		if c.profile != nil {
			c.profile.Merge(o.profile)
		}
		c.partials += o.partials
		if o.forest != nil {
			forests = append(forests, o.forest)
		}
	}
	if len(forests) > 0 {
		c.forest.Merge(forests...)
	}
	return c
}

// reportUntil returns the report, or the error of ctx soon after ctx is done.
func (c *collector) reportUntil(ctx context.Context) (*Report, error) {
	if c.forest != nil {
		c.forest.Until(func() bool { return ctx.Err() != nil })
	}
	r := c.report()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if c.forest != nil {
		c.forest.Until(nil)
	}
	return r, nil
}

func (c *collector) report() *Report {
	if c.partials > 0 {
		r := newReport(c.counter.envelope(), c.profile, nil, nil, &c.opts)
		if !c.opts.SumsOnly {
			r.LeftOut = "profiles in the input hold sums, and not the structure of the run that other figures need"
		}
		return r
	}
	if c.opts.SumsOnly && c.forest != nil {
		return newReport(c.counter.envelope(), profile.Settle(c.forest, c.profile, true), nil, nil, &c.opts)
	}
	r := newReport(c.counter.envelope(), c.profile, c.forest, c.works.Used, &c.opts)
	if c.opts.KeepForest {
		r.Forest = c.forest
	}
	return r
}
