package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

func loadFake(f *fakeDevice) func() (*driver, error) {
	return func() (*driver, error) { return f.driver(), nil }
}

// On a fake device the product is checked, every operation is recorded, and the recording matches the device.
func TestRun(t *testing.T) {
	f := newFake(t)
	out := new(bytes.Buffer)
	dir := t.TempDir()
	const steps = 6
	check.OK(t, run(t.Context(), config{steps, 9, dir}, loadFake(f), out))
	for _, want := range []string{
		`^Fake: 8 products of 9×9 matrices in a batch; 1296 numbers agree with the host's\n`,
		`cuda\.jsonl: 24 operations launched, 24 recorded, 0 dropped, 0 lost, 0 unplaced\n`,
		`cuda-timed\.jsonl: 24 operations launched, 24 recorded, 0 dropped, 0 lost, 0 unplaced\n`,
		`\n  critical path across host and devices: `,
		`\n12 kernels of \S+ on average: recorded times differ from those taken by hand by \S+ at most\n`,
		`\nrecording takes -?[0-9.]+ % of a step: median \S+ with it, \S+ without, of 6 steps each in turn\n$`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("this is not said: %s\n%s", want, out)
		}
	}
	if left := f.leaks(); left != nil {
		t.Errorf("not destroyed: %v", left)
	}
	batch := filepath.Join(dir, "cuda.jsonl")
	r := check.Must(analyze.Run(t.Context(), ingest.Open(batch), analyze.Options{}))(t)
	l := r.Launches
	if l.Count != steps*opsPerStep || l.Early != 0 || len(l.Streams) != clockStream || l.EnqueueNS == 0 {
		t.Errorf("launches %+v", l)
	}
	if c := r.Input.DeviceClock; c == nil || c.Entries != steps*opsPerStep || c.MaxErrorNS == 0 {
		t.Errorf("device clock %+v", c)
	}
	if r.Input.Orphans.V != 0 || r.Input.SuspectDurations.V != 0 {
		t.Errorf("%+v", r.Input)
	}
}

// Times are right within their recorded bound, and durations as exact as the device's, even with many base events.
func TestTimes(t *testing.T) {
	f := newFake(t)
	file := filepath.Join(t.TempDir(), "batch.jsonl")
	dev := check.Must(openDevice(f.driver()))(t)
	defer dev.close()
	dev.clock.every = 3 * time.Millisecond
	first := dev.clock.base
	net := newNetwork(dev, 4)
	e := check.Must(record(t.Context(), net, file, func(ctx context.Context, e *engine) error {
		for range 8 {
			if err := sendAll(ctx, e, 10); err != nil {
				return err
			}
			time.Sleep(20 * time.Millisecond) // between clock readings
		}
		return nil
	}, new(bytes.Buffer)))(t)
	if dev.clock.base == first || dev.clock.base.at <= first.at {
		t.Errorf("the base is the first one still: %+v", dev.clock.base)
	}
	if made := f.open["event"]; made > 4*80*opsPerStep/2 {
		t.Errorf("%d events: they are not used again", made)
	}
	recorded := check.Must(kernels(file))(t)
	for _, stream := range []int{firstCompute, secondCompute} {
		entries := recorded[stream]
		hand := e.byHand[stream]
		stamps := f.stamps[dev.streams[stream]]
		if len(entries) != 40*layers || len(hand) != len(entries) || len(stamps) != 40*(layers+1)*2 {
			t.Fatalf("stream %d: %d entries, %d times by hand, %d events", stream, len(entries), len(hand), len(stamps))
		}
		for i, entry := range entries {
			at := 2 * (i + i/layers) // a copy follows the kernels of a step
			start := f.unix(stamps[at])
			length := stamps[at+1] - stamps[at]
			bound := clockError(t, &entry)
			if off := entry.Start.V - start; max(off, -off) > bound {
				t.Errorf("stream %d, kernel %d: begins %d ns late, bound %d", stream, i, off, bound)
			}
			if off := entry.Duration - length; max(off, -off) > 2*bound {
				t.Errorf("stream %d, kernel %d: %d ns too long, bound %d", stream, i, off, bound)
			}
			if off := int64(hand[i]) - length; max(off, -off) > resolution {
				t.Errorf("stream %d, kernel %d: %d ns too long by hand", stream, i, off)
			}
		}
	}
}

// clockError returns the error bound of an entry.
func clockError(t *testing.T, e *op.Entry) int64 {
	t.Helper()
	for _, a := range e.Attrs {
		if a.Key == string(tensorconv.ClockErrorKey) {
			return check.Must(strconv.ParseInt(a.Value, 10, 64))(t)
		}
	}
	t.Fatalf("no bound is recorded: %+v", e)
	return 0
}

// Without a device the program says so in one line and exits without an error.
func TestNoDevice(t *testing.T) {
	none := newFake(t)
	none.fail["cuInit"] = errorNoDevice
	empty := newFake(t).driver()
	empty.DeviceCount = func(n *int32) result { *n = 0; return success }
	for name, c := range map[string]struct {
		load func() (*driver, error)
		want string
	}{
		"driver without device": {loadFake(none), "cuInit: CUDA_ERROR_NO_DEVICE (CUDA error 100)"},
		"empty driver":          {func() (*driver, error) { return empty, nil }, "the driver has none"},
		"no driver":             {func() (*driver, error) { return nil, errNoDevice }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := new(bytes.Buffer)
			dir := t.TempDir()
			check.OK(t, run(t.Context(), config{1, 4, dir}, c.load, out))
			got := out.String()
			if !strings.HasPrefix(got, "Nothing was run: no CUDA device can be used here") ||
				!strings.Contains(got, c.want) || strings.Count(got, "\n") != 1 {
				t.Errorf("%q", got)
			}
			if files, err := os.ReadDir(dir); len(files) != 0 || err != nil {
				t.Errorf("files %v, %v", files, err)
			}
		})
	}
}

// The program loads the machine's driver, if any, and exits without an error.
func TestProgram(t *testing.T) {
	cases.Rare(t)
	binary := filepath.Join(t.TempDir(), "cuda.exe")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), binary, "-steps", "2", "-n", "64", "-o", t.TempDir()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !bytes.Contains(out, []byte("Nothing was run: ")) && !bytes.Contains(out, []byte("recording takes ")) {
		t.Errorf("%s on %s: %s", runtime.GOOS, runtime.GOARCH, out)
	}
}

// A failed call is an error with its name, and all objects are destroyed.
func TestFailures(t *testing.T) {
	for call, want := range map[string]string{
		"cuDeviceGetCount": "cuDeviceGetCount: CUDA error 7",
		"cuModuleLoadData": "cuModuleLoadData: CUDA error 7",
		"cuMemAlloc":       "cuMemAlloc: CUDA error 7",
		"cuLaunchKernel":   "cuLaunchKernel: CUDA error 7",
		"wrong product":    "wrong product of stream",
	} {
		t.Run(call, func(t *testing.T) {
			f := newFake(t)
			f.wrong = call == "wrong product"
			f.fail[call] = 7
			err := run(t.Context(), config{1, 4, t.TempDir()}, loadFake(f), new(bytes.Buffer))
			if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, errNoDevice) {
				t.Errorf("%v, want %q", err, want)
			}
			delete(f.open, "module") // the fake makes those whose creation it says failed
			delete(f.open, "memory")
			if left := f.leaks(); left != nil {
				t.Errorf("not destroyed: %v", left)
			}
		})
	}
}

// Operations with failed events are lost and counted.
func TestEventFails(t *testing.T) {
	f := newFake(t)
	out := new(bytes.Buffer)
	f.fail["cuEventElapsedTime"] = 7
	err := run(t.Context(), config{2, 4, t.TempDir()}, loadFake(f), out)
	if !strings.Contains(out.String(), "8 operations launched, 0 recorded, 0 dropped, 8 lost, 0 unplaced") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestFlagsAreChecked(t *testing.T) {
	for _, cfg := range []config{{0, 4, ""}, {1, 0, ""}, {1, maxSize + 1, ""}} {
		check.Says(t, fmt.Sprintf("%+v is not refused", cfg), "",
			run(t.Context(), cfg, loadFake(newFake(t)), new(bytes.Buffer)))
	}
}
