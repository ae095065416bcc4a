package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/input"
	"github.com/optrace/optrace/cmd/optrace/internal/output"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/render/text"
)

const whatifUsage = `usage: optrace whatif [flags] [-change CHANGE]... INPUT...

Whatif replays a recording with changes, and predicts how long the run, its requests
and its steps take. Without a change it says what the time is spent on.

  -change CHANGE    a change, written WHAT SELECT; give it again for several changes.
                    SELECT is the name of an operation, operator, span or call, or
                    KEY=VALUE,KEY=VALUE, such as device=cuda:*; keys are operation,
                    operator, path, kind, device, rank, stream, step, phase, service
                    and host; paths have one number, such as layers.3.
                    WHAT is:
    0.5x            times 0.5
    remove          neither run nor launched
    typical         each call at most the median of calls with the same work
    roofline        each call at most its bound by the device's peaks; needs -peaks
    rate=25GB/s     each copy at this rate, if that is faster
    overlap         collectives on a stream of their own
    nowait          the host goes on in these calls or copies
    balance         each device has the mean of the devices' work; SELECT "requests"
                    gives replicas of an engine their requests in turn
    fuse            sequences of operations, written a;b;c, as one launch; SELECT
                    "short" or "elementwise" fuses runs of such operations
    chunk=64        at most 64 tokens in a step of an engine; no SELECT
    replicas=2      requests in turn on two engines of the kind; no SELECT
    window=2ms      engines wait at most so long to fill a batch; no SELECT
    without         without a request, written request=TRACE_ID
    host 0.5x       all time of the host times 0.5; SELECT is rank=N, service=NAME or nothing
    pauses          long times without a record of the host as short as usual ones
    warm            the first step as fast as the others
    early           requests come to their engine as they begin; none of these has a
                    SELECT
  -peaks FILE       the device's peak rates: a name or file as of optrace report
  -json             print JSON, schema optrace.whatif/v1
` + flags.FormatUsage + `
  -o FILE           write to FILE, not an INPUT; replaced once complete
` + streams.DisplayUsage + flags.MemoryUsage + `
Examples:

  optrace whatif trace.json.gz
  optrace whatif -change '0.5x aten::mm' trace.json.gz
  optrace whatif -change 'nowait cudaStreamSynchronize' -change 'host 0.5x' trace.json.gz
  optrace whatif -change 'rate=25GB/s Memcpy HtoD (Pageable -> Device)' trace.json.gz
  optrace whatif -change 'overlap kind=collective' rank0.json.gz rank1.json.gz
  optrace whatif -json -change 'remove relu' ops.jsonl | jq .run.replayed_ns
`

type whatifFlags struct {
	json    bool
	peaks   string
	changes []replay.Change
	display streams.DisplayFlags
	flags.InOut
}

func (f *whatifFlags) define(fs *flag.FlagSet) {
	fs.Func("change", "", func(text string) error {
		c, err := replay.Parse(text)
		f.changes = append(f.changes, c)
		return err
	})
	fs.StringVar(&f.peaks, "peaks", "", "")
	fs.BoolVar(&f.json, "json", false, "")
	f.display.Register(fs)
	f.InOut.Define(fs)
}

func (f *whatifFlags) run(ctx context.Context, s streams.Streams, line *flags.Line) error {
	peaks, err := flags.ReadPeaks(f.peaks)
	if err != nil {
		return err
	}
	for _, name := range line.Inputs {
		if isChange(name) {
			return exit.Usagef("%q is no file. Write a change as -change 'WHAT SELECT'", name)
		}
	}
	for _, c := range f.changes {
		if c.Kind == replay.Roofline && peaks == nil {
			return exit.Usagef("-change %q needs -peaks", c)
		}
	}
	return output.Produce(ctx, s, f.Output, line.Inputs, func(out *output.File) error {
		in, done := input.Source{Inputs: line.Inputs, InOut: f.InOut, Exclude: out.Exclude}.Open(s)
		r, err := analyze.RunWhatIf(ctx, in, analyze.Options{Peaks: peaks}, f.changes...)
		done()
		if unknown, ok := errors.AsType[*replay.UnknownError](err); ok {
			return exit.Input(fmt.Errorf("-change: %w%s", err, exit.Guess(unknown.Select, unknown.Names)))
		}
		if err != nil {
			return exit.Input(err)
		}
		out.Verdict = input.Unread(line.Inputs, &r.Input)
		s.Show(r)
		if f.json {
			return exit.Output(output.JSON(out, r))
		}
		return exit.Output(text.WriteWhatIf(out, r, f.display.On(out.Screen(s))))
	})
}

// isChange reports whether an input is no file, and a change or the first word of one.
func isChange(name string) bool {
	if _, err := os.Stat(name); err == nil {
		return false
	}
	_, err := replay.Parse(name)
	if err != nil {
		_, err = replay.Parse(name + " x")
	}
	return err == nil
}
