package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
)

// The figures identify each phase, and every operation is recorded.
func TestPhases(t *testing.T) {
	dir := t.TempDir()
	out := new(bytes.Buffer)
	const requests = 6
	check.OK(t, run(t.Context(), config{requests, dir}, out))
	const launched = requests * (2 + 2*layers)
	want := fmt.Sprintf("%d operations launched, %d recorded, 0 dropped, 0 lost, 0 unplaced", launched, launched)
	if strings.Count(out.String(), want) != 2 {
		t.Errorf("not twice %q:\n%s", want, out)
	}
	for _, phase := range []string{"burst", "paced"} {
		batch := filepath.Join(dir, phase+".jsonl")
		r := check.Must(analyze.Run(t.Context(), ingest.Open(batch), analyze.Options{}))(t)
		entries, _ := recordtest.Split(t, ingest.Open(batch).Records())
		l := r.Launches
		if l.Count != launched || l.Early != 0 || len(l.Streams) != numStreams || l.EnqueueNS == 0 {
			t.Errorf("%s: launches %+v", phase, l)
		}
		waiting := int64(0) // in the device's queues
		for _, stream := range l.Streams {
			waiting += stream.WaitingNS
		}
		host := 2*l.Path.BoundBy.HostNS > l.Path.DurationNS
		if host != (phase == "paced") || !host && waiting <= r.Devices[0].BusyNS.V {
			t.Errorf("%s: operations waited for %d ns, and the path is %+v", phase, waiting, l.Path)
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
	}
}
