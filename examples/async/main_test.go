package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/recordtest"
	"github.com/optrace/optrace/op"
)

func reported(t *testing.T, batch string) (*analyze.Report, []*op.Entry) {
	t.Helper()
	r := check.Must(analyze.Run(t.Context(), ingest.Open(batch), analyze.Options{}))(t)
	entries, _ := recordtest.Split(t, ingest.Open(batch).Records())
	return r, entries
}

// Each phase is found by its figures, and nothing is lost.
func TestPhases(t *testing.T) {
	dir, out := t.TempDir(), new(bytes.Buffer)
	const requests = 6
	check.OK(t, run(t.Context(), config{requests, dir}, out))
	for _, want := range []string{"bound by the queues", "bound by the host"} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("%q is not said once:\n%s", want, out)
		}
	}
	const launched = requests * (2 + 2*layers)
	want := fmt.Sprintf("%d operations launched, %d recorded, 0 dropped, 0 lost, 0 unplaced", launched, launched)
	if strings.Count(out.String(), want) != 2 {
		t.Errorf("not twice %q:\n%s", want, out)
	}
	for _, phase := range []string{"burst", "paced"} {
		r, entries := reported(t, filepath.Join(dir, phase+".jsonl"))
		l := r.Launches
		if l.Count != launched || l.Early != 0 || len(l.Streams) != numStreams || l.EnqueueNS == 0 {
			t.Errorf("%s: launches %+v", phase, l)
		}
		if c := r.Input.DeviceClock; c == nil || c.Entries != launched || c.MaxErrorNS == 0 {
			t.Errorf("%s: device clock %+v", phase, c)
		}
		if r.Input.Orphans.V != 0 || r.Input.SuspectDurations.V != 0 || r.PathTotals.Paths != requests {
			t.Errorf("%s: %+v, %+v", phase, r.Input, r.PathTotals)
		}
		for _, e := range entries {
			check.OK(t, e.Validate())
		}
		checkKineto(t, r, entries)
	}
}

// checkKineto compares the figures with those of the same run as PyTorch's profiler would
// have written it.
func checkKineto(t *testing.T, want *analyze.Report, entries []*op.Entry) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace.json")
	writeFile(t, file, asKineto(entries))
	got, _ := reported(t, file)
	check.Equal(t, "launches: Kineto against recorded", want.Launches, got.Launches)
	// The profiler's trace has no requests, between which devices have nothing to do.
	alone := check.Must(analyze.Run(t.Context(), analyze.Records(recordtest.Entries(entries...)), analyze.Options{}))(t)
	check.Equal(t, "idle causes: Kineto against recorded", alone.IdleCauses, got.IdleCauses)
}

// asKineto returns a trace of PyTorch's profiler with the same operations.
func asKineto(entries []*op.Entry) string {
	const base = int64(1_700_000_000_000_000_000)
	micros := func(ns int64) string { return fmt.Sprintf("%d.%03d", ns/1000, ns%1000) }
	var events []string
	event := func(category, name string, thread, start, length int64, args string) {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":%d,"ts":%s,"dur":%s,"args":{%s}}`,
			category, name, thread, micros(start-base), micros(length), args))
	}
	for i, e := range entries {
		correlation := fmt.Sprintf(`"correlation":%d`, i+1)
		device := fmt.Sprintf(`"device":0,"stream":%d,%s`, e.Stream.V, correlation)
		switch {
		case e.Side == op.SideHost:
			event("cpu_op", e.Operation, 1, e.Start.V, e.Duration, `"External id":1`)
			continue
		case e.Kind == op.KindMemory:
			event("gpu_memcpy", e.Operation, e.Stream.V, e.Start.V, e.Duration, device)
		default:
			event("kernel", e.Operation, e.Stream.V, e.Start.V, e.Duration, device)
		}
		event("cuda_runtime", "cudaLaunchKernel", 1, e.Launch.V, 0, correlation)
	}
	return fmt.Sprintf(`{"schemaVersion":1,"deviceProperties":[],"traceEvents":[%s],"baseTimeNanoseconds":%d}`,
		strings.Join(events, ",\n"), base)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	check.OK(t, os.WriteFile(path, []byte(text), 0o666))
}
