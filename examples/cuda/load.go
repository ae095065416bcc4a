package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

// sendAll enqueues all steps: the device always has work, and operations wait in its queues.
func sendAll(ctx context.Context, e *engine, steps int) error {
	for i := 0; i < steps && ctx.Err() == nil && e.dev.err == nil; i++ {
		e.step(ctx)
		e.queue.Poll() // does not wait
		e.reap()
	}
	return e.dev.err
}

// compare prints the largest difference between recorded times of kernels and times taken by hand.
func compare(batch string, byHand *[numStreams][]time.Duration, out io.Writer) error {
	recorded, err := kernels(batch)
	if err != nil {
		return err
	}
	var largest, sum time.Duration
	n := 0
	for stream, hand := range byHand {
		if len(hand) != len(recorded[stream]) {
			return fmt.Errorf("stream %d: %d kernels are recorded and %d were timed by hand",
				stream, len(recorded[stream]), len(hand))
		}
		for i, d := range hand {
			largest = max(largest, (time.Duration(recorded[stream][i].Duration) - d).Abs())
			sum += d
		}
		n += len(hand)
	}
	if n == 0 {
		_, err = fmt.Fprintln(out, "no kernel ran")
		return err
	}
	_, err = fmt.Fprintf(out,
		"%d kernels of %v on average: recorded times differ from those taken by hand by %v at most\n",
		n, sum/time.Duration(n), largest)
	return err
}

func kernels(batch string) (recorded [numStreams][]op.Entry, err error) {
	for rec, err := range ingest.Open(batch).Records() {
		switch {
		case err != nil:
			return recorded, err
		case rec.Entry != nil && rec.Entry.Operation == "matmul":
			stream := rec.Entry.Stream.V
			if stream < 0 || stream >= numStreams {
				return recorded, fmt.Errorf("%s: an operation of stream %d", batch, stream)
			}
			recorded[stream] = append(recorded[stream], *rec.Entry.Clone()) // the next record overwrites the entry
		}
	}
	for _, entries := range recorded {
		slices.SortStableFunc(entries, func(a, b op.Entry) int { return cmp.Compare(a.Start.V, b.Start.V) })
	}
	return recorded, nil
}

// overhead holds the durations of steps with and without recording.
type overhead struct{ with, without []time.Duration }

// sendTimed runs steps one by one, half of them with recording, and waits for each.
func (o *overhead) sendTimed(ctx context.Context, e *engine, steps int) error {
	e.timed = true
	for i := 0; i < 2*steps && ctx.Err() == nil && e.dev.err == nil; i++ {
		e.off = (i/2+i)%2 != 0 // on, off, off, on: both variants use both streams
		begun := time.Now()
		e.dev.synchronize(e.step(ctx))
		if e.off {
			o.without = append(o.without, time.Since(begun))
			continue
		}
		e.queue.Poll()
		o.with = append(o.with, time.Since(begun))
		e.reap()
	}
	e.off = false
	return e.dev.err
}

func (o *overhead) print(out io.Writer) error {
	if len(o.with) == 0 || len(o.without) == 0 {
		_, err := fmt.Fprintln(out, "no steps were timed")
		return err
	}
	with := median(o.with)
	without := median(o.without)
	const format = "recording takes %.2f %% of a step: median %v with it, %v without, of %d steps each in turn\n"
	_, err := fmt.Fprintf(out, format,
		100*(float64(with)/float64(without)-1), with, without, len(o.with))
	return err
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return (d[(len(d)-1)/2] + d[len(d)/2]) / 2
}
