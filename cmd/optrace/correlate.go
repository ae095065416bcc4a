package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/price"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/input"
	"github.com/optrace/optrace/cmd/optrace/internal/output"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/render/text"
)

type correlateFlags struct {
	jaeger, service, operation, trace string
	since, minDuration, timeout       time.Duration
	linkPatterns, reportURL, price    string
	section, otlp                     string
	limit, top                        int
	redirects, json, annotate         bool
	display                           streams.DisplayFlags
	flags.InOut

	line    *flags.Line
	now     time.Time
	prices  *price.Table
	chosen  selection
	traceID op.TraceID
	// asked are the traces requested from Jaeger, nil before any request.
	asked map[op.TraceID]struct{}
}

const defaultTraceLimit = 1000

func (f *correlateFlags) run(ctx context.Context, s streams.Streams, line *flags.Line) error {
	f.takeOTLP(line)
	inputs := line.Inputs
	f.line = line
	if err := f.check(len(inputs)); err != nil {
		return err
	}
	if f.linkPatterns != "" {
		err := output.Produce(ctx, s, f.linkPatterns, inputs, func(out *output.File) error {
			return exit.Output(writeLinkPatterns(out, f.reportURL))
		})
		if err != nil || f.jaeger == "" && len(inputs) == 0 {
			return err
		}
	}
	return output.Produce(ctx, s, f.Output, inputs, func(out *output.File) error {
		exclude := out.Exclude
		if patterns, err := os.Stat(f.linkPatterns); err == nil {
			exclude = func(info os.FileInfo) bool { return os.SameFile(patterns, info) || out.Exclude(info) }
		}
		report, err := f.report(ctx, s, input.Source{Inputs: inputs, InOut: f.InOut, Exclude: exclude})
		if err != nil {
			return err
		}
		if report.Input != nil {
			out.Verdict = input.Unread(inputs, report.Input)
		}
		s.Show(report)
		return exit.Output(f.write(out, f.display.On(out.Screen(s)), report))
	})
}

func (f *correlateFlags) report(ctx context.Context, s streams.Streams, src input.Source) (*correlate.Report, error) {
	join := correlate.NewJoin()
	var keep []string // needed attributes of spans
	if f.prices != nil {
		keep = correlate.PriceAttrs(f.prices)
	}
	join.KeepAttrs(keep...)
	opts := correlate.Options{Findings: f.trace == "", Keep: f.wantsRequest, KeepTrace: f.wantsTrace, Price: f.prices,
		RequestsOf: f.service}
	if len(src.Inputs) > 0 {
		in, done := src.Open(s)
		forest, env, err := analyze.ReadForest(ctx, in, 0, keep...)
		done()
		if err != nil {
			return nil, exit.Input(err)
		}
		join.TakeLocal(forest)
		join.DescribeLocal(env)
		opts.Input = env
	}
	f.now = time.Now() // not before the input has ended: a service may write it
	if f.jaeger != "" {
		client, err := jaeger.NewClient(f.jaeger, jaeger.ClientOptions{
			Mapping: attrmap.With(nil, attr.Want{Keep: keep, Spans: engines.Keys()}), Timeout: f.timeout,
			FollowRedirects: f.redirects, MaxMemory: int64(f.Memory),
		})
		if err != nil {
			return nil, exit.Usagef("-jaeger: %w", err)
		}
		opts.Jaeger = client.Base()
		if opts.Service, err = f.readService(ctx, client, join); err != nil {
			return nil, exit.Input(err)
		}
		join.DescribeService(&opts.Service.Envelope)
	}
	report := join.Report(opts)
	err := f.checkTrace(report)
	if err == nil && f.annotate {
		err = f.annotateRequests(ctx, s, report)
	}
	return report, err
}

func (f *correlateFlags) checkTrace(r *correlate.Report) error {
	switch {
	case f.trace == "" || len(r.Requests) > 0 || r.UnattachedOps > 0:
		return nil
	case r.Service == nil:
		return exit.Input(fmt.Errorf("the input does not hold the trace: %s", f.traceID))
	case r.Service.NotThere == 0 && len(r.Service.Problems) > 0:
		return exit.Input(errors.New(strings.Join(r.Service.Problems, "; ")))
	}
	return exit.Input(fmt.Errorf("%s: neither Jaeger nor the input holds the trace: %s", r.Jaeger, f.traceID))
}

func (f *correlateFlags) define(fs *flag.FlagSet) {
	fs.StringVar(&f.jaeger, "jaeger", "", "")
	fs.StringVar(&f.service, "service", "", "")
	fs.StringVar(&f.operation, "operation", "", "")
	fs.DurationVar(&f.since, "since", time.Hour, "")
	fs.DurationVar(&f.minDuration, "min-duration", 0, "")
	fs.StringVar(&f.trace, "trace", "", "")
	fs.IntVar(&f.limit, "limit", defaultTraceLimit, "")
	fs.DurationVar(&f.timeout, "timeout", jaeger.DefaultTimeout, "")
	fs.BoolVar(&f.redirects, "follow-redirects", false, "")
	fs.BoolVar(&f.json, "json", false, "")
	fs.IntVar(&f.top, "top", profile.DefaultTop, "")
	fs.StringVar(&f.price, "price", "", "")
	fs.StringVar(&f.section, "section", "", "")
	fs.BoolVar(&f.annotate, "annotate", false, "")
	fs.StringVar(&f.otlp, "otlp", "", "")
	fs.StringVar(&f.linkPatterns, "link-patterns", "", "")
	f.InOut.Define(fs)
	fs.StringVar(&f.reportURL, "report-url", defaultReportURL, "")
	f.display.Register(fs)
}

func (f *correlateFlags) check(inputs int) error {
	var ok bool
	if f.trace != "" {
		if f.traceID, ok = op.ParseTraceID([]byte(f.trace)); !ok || f.traceID.IsZero() {
			return exit.Usagef("-trace: %q is not a trace id of 32 hexadecimal digits", f.trace)
		}
	}
	switch {
	case f.trace != "" && (f.service != "" || f.operation != "" || f.minDuration != 0 || f.line.IsSet("since")):
		return exit.Usagef("-trace goes without -service, -operation, -since and -min-duration")
	case f.jaeger == "" && inputs == 0 && f.linkPatterns == "":
		return exit.Usagef("no input: give -jaeger, files, or both; use - for standard input")
	case f.jaeger != "" && inputs == 0 && f.service == "" && f.trace == "":
		return exit.Usagef("no traces to ask Jaeger for: give -service, -trace, or inputs")
	case f.since <= 0:
		return exit.Usagef("-since is not positive")
	case f.minDuration < 0:
		return exit.Usagef("-min-duration is negative")
	case f.limit <= 0:
		return exit.Usagef("-limit is not positive")
	case f.timeout <= 0:
		return exit.Usagef("-timeout is not positive")
	case f.top < 0:
		return exit.Usagef("-top is negative")
	}
	var err error
	if f.chosen, err = parseSections(f.section, correlationSections); err != nil {
		return err
	}
	if err := f.checkOTLP(); err != nil {
		return err
	}
	if err := checkReportURL(f.reportURL); err != nil || f.price == "" {
		return err
	}
	prices, err := os.ReadFile(f.price)
	if err != nil {
		return exit.Usagef("-price: %w", err)
	}
	if f.prices, err = price.Parse(prices); err != nil {
		return exit.Usagef("-price: %s: %w", f.price, err)
	}
	return nil
}

func (f *correlateFlags) write(w io.Writer, opts text.Options, r *correlate.Report) error {
	if f.json {
		return output.JSON(w, r)
	}
	opts.Top = f.top
	opts.Rows = f.line.Rows()
	if f.section == "" && f.trace == "" {
		opts.FirstScreen = true
		opts.Show = selection{"price"}.shows
	} else if f.chosen != nil {
		opts.Show = f.chosen.shows
	}
	return text.WriteCorrelation(w, r, opts)
}

// wantsTrace reports whether to show operations of the trace without a request.
func (f *correlateFlags) wantsTrace(id op.TraceID) bool {
	if f.trace != "" {
		return id == f.traceID
	}
	if f.asked == nil {
		return true
	}
	_, asked := f.asked[id]
	return asked || f.service == "" && id.IsZero()
}

// wantsRequest reports whether q is part of the report. In traces found by Jaeger all requests of the service are: the
// search may have matched a span within the request.
func (f *correlateFlags) wantsRequest(q *requests.Request) bool {
	if f.trace != "" { // q or one of its executions
		for e := range q.Executions() {
			if e.TraceID == f.traceID {
				return true
			}
		}
		return q.TraceID == f.traceID
	}
	if f.asked == nil {
		return f.wantsLocal(q)
	}
	_, asked := f.asked[q.TraceID]
	return asked && f.matches(q)
}

// wantsLocal is wantsRequest for traces not requested from Jaeger, without -trace.
func (f *correlateFlags) wantsLocal(q *requests.Request) bool {
	// The default of one hour applies to the search only.
	anyTime := !f.line.IsSet("since") && (f.jaeger == "" || f.service == "")
	recent := q.StartNS.Known && q.StartNS.V >= f.now.Add(-f.since).UnixNano()
	return (anyTime || recent) && f.matches(q) && (f.operation == "" || q.Name == f.operation)
}

func (f *correlateFlags) matches(q *requests.Request) bool {
	return (f.service == "" || q.Service == f.service || q.Root.IsZero()) &&
		(f.minDuration == 0 || q.DurationNS.Known && q.DurationNS.V >= int64(f.minDuration))
}
