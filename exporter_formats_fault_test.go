package optrace_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/optrace/optrace/internal/spantest"
)

// The rest of a batch is written by Shutdown, or counts as dropped.
func TestOutputRestAtShutdown(t *testing.T) {
	for _, o := range outputs() {
		if o.healsLines() {
			continue
		}
		for _, recovers := range []bool{true, false} {
			w := &spantest.FaultyWriter{N: 20, Fault: func(n int) (int, error) { return n, errDisk }, Broken: !recovers}
			exp := newExporter(t, w, o.options()...)
			proc := newProcessor(t, exp)
			for _, s := range spantest.Operations(3) {
				proc.OnEnd(s)
			}
			if err := proc.ForceFlush(t.Context()); !errors.Is(err, errDisk) {
				t.Errorf("%v: flushing returns %v", o, err)
			}
			if err := proc.Shutdown(t.Context()); recovers == (err != nil) {
				t.Errorf("%v: Shutdown returns %v with a writer that recovers: %v", o, err, recovers)
			}
			for what, st := range map[string]uint64{"exporter": exp.Stats().Written, "processor": proc.Stats().Written} {
				if want := map[bool]uint64{true: 3, false: 0}[recovers]; st != want {
					t.Errorf("%v: the %s counts %d as written, want %d", o, what, st, want)
				}
			}
			checkBooks(t, "exporter", exp.Stats())
			checkBooks(t, "processor", proc.Stats())
			if recovers {
				if got := slices.Sorted(slices.Values(spantest.Read(t, w.Bytes()).Steps())); !slices.Equal(got, spantest.UpTo(3)) {
					t.Errorf("%v: entries %v", o, got)
				}
			}
		}
	}
}
