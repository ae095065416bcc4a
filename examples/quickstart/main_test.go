package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace/noop"
	"gonum.org/v1/gonum/floats"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

func runIn(t *testing.T, ctx context.Context, cfg config) string {
	t.Helper()
	var out bytes.Buffer
	check.OK(t, run(ctx, cfg, &out))
	return out.String()
}

// recorded opens the output of a run in a directory.
func recorded(dir string) *ingest.Input { return ingest.Open(filepath.Join(dir, "ops.jsonl")) }

func TestRunWritesWhatItDid(t *testing.T) {
	const steps, devices, layers, requests = 2, 3, 3, 8
	cfg := config{steps: steps, devices: devices, dir: filepath.Join(t.TempDir(), "new", "directory")}
	out := runIn(t, t.Context(), cfg)
	entries, spans := recordtest.Split(t, recorded(cfg.dir).Records())

	t.Run("entries are valid", func(t *testing.T) {
		for _, e := range entries {
			if err := e.Validate(); err != nil || e.Warn != 0 {
				t.Errorf("%s: %v, warnings %b", e.Operation, err, e.Warn)
			}
			if e.OutputShape == nil || e.InputShapes == nil || e.DType != op.F64 || e.Path == "" || !e.Stream.Known ||
				e.Service != "quickstart" || e.Rank != op.Known(0) {
				t.Errorf("incomplete: %+v", e)
			}
		}
	})

	t.Run("every operation is there", func(t *testing.T) {
		got := make(map[string]int)
		for _, e := range entries {
			got[e.Kind.String()+" "+e.Operation]++
		}
		parts := steps * devices // the operations of one device in one step
		want := map[string]int{
			"memory Memcpy HtoD":         parts + requests,
			"memory Memcpy DtoH":         requests,
			"compute matmul":             parts*(layers+2*layers-1) + requests*layers,
			"compute bias_add":           parts*layers + requests*layers,
			"compute bias_grad":          parts * layers,
			"compute relu":               (parts + requests) * (layers - 1),
			"compute relu_grad":          parts * (layers - 1),
			"compute softmax":            parts + requests,
			"compute cross_entropy":      parts,
			"compute cross_entropy_grad": parts,
			"collective all_reduce":      parts * layers,
			"compute sgd_update":         parts * layers,
		}
		check.Equal(t, "operations", want, got)
	})

	t.Run("no operation is an orphan", func(t *testing.T) {
		r := check.Must(analyze.Run(t.Context(), recorded(cfg.dir), analyze.Options{}))(t)
		if in := r.Input; in.Orphans != op.Known(0) || in.Dropped != 0 {
			t.Errorf("%v orphans, %d operations were lost", in.Orphans, in.Dropped)
		}
		got := make(map[string]int)
		for _, s := range spans {
			got[s.Name]++
		}
		want := map[string]int{
			"train.step": steps, "forward": steps * devices, "backward": steps * devices, "update": steps * devices,
			"POST /v1/predict": requests,
		}
		check.Equal(t, "spans", want, got)
	})

	t.Run("collectives have a part on every device", func(t *testing.T) {
		devicesOf := make(map[int64][]string)
		for _, e := range entries {
			if c := e.Collective; c != nil {
				devicesOf[c.Sequence.V] = append(devicesOf[c.Sequence.V], e.DeviceID)
				if c.Name != "all_reduce" || c.Group != "data_parallel" || c.GroupSize != op.Known(devices) ||
					!c.Sequence.Known {
					t.Errorf("collective: %+v", c)
				}
			}
		}
		check.Equal(t, "collectives", steps*layers, len(devicesOf))
		for sequence, got := range devicesOf {
			slices.Sort(got)
			check.Equal(t, fmt.Sprintf("devices of collective %d", sequence), []string{"cpu:0", "cpu:1", "cpu:2"}, got)
		}
	})

	t.Run("the report is printed", func(t *testing.T) {
		for _, want := range []string{"loss", "images recognised", " 0 dropped", " operations ", "no request",
			"The bound is", "all_reduce"} {
			if !strings.Contains(out, want) {
				t.Errorf("output lacks %q:\n%s", want, out)
			}
		}
	})
}

func TestRunReplacesItsFiles(t *testing.T) {
	dir := t.TempDir()
	runIn(t, t.Context(), config{steps: 2, devices: 1, dir: dir})
	runIn(t, t.Context(), config{steps: 1, devices: 1, dir: dir})
	entries, _ := recordtest.Split(t, recorded(dir).Records())
	steps := make(map[op.Int]bool)
	for _, e := range entries {
		steps[e.Step] = true
	}
	check.Equal(t, "steps", map[op.Int]bool{{}: true, op.Known(0): true}, steps)
}

func TestRunInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if out := runIn(t, ctx, config{steps: 5, devices: 2, dir: dir}); !strings.Contains(out, "interrupted") {
		t.Errorf("output:\n%s", out)
	}
	if entries, _ := recordtest.Split(t, recorded(dir).Records()); len(entries) == 0 {
		t.Error("what was recorded was not written")
	}
}

func TestRunRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check.OK(t, os.WriteFile(file, nil, 0o600))
	for name, cfg := range map[string]config{
		"no devices":                          {steps: 1, dir: t.TempDir()},
		"negative steps":                      {steps: -1, devices: 1, dir: t.TempDir()},
		"a file to write into as a directory": {steps: 1, devices: 1, dir: file},
	} {
		t.Run(name, func(t *testing.T) {
			check.Says(t, "", "", run(t.Context(), cfg, &bytes.Buffer{}))
		})
	}
}

// train returns a trainer after steps with batches of the given number of rows, and the losses.
func train(t *testing.T, devices, steps, rows int) (trainer *Trainer, losses []float64) {
	t.Helper()
	trainer = check.Must(newTrainer(noop.NewTracerProvider(), devices))(t)
	data := newDataset()
	for step := range steps {
		losses = append(losses, trainer.Step(t.Context(), int64(step), data.Batch(rows)))
	}
	return trainer, losses
}

func TestLossDecreases(t *testing.T) {
	_, losses := train(t, 2, 12, 128)
	first := losses[0]
	last := losses[len(losses)-1]
	if math.IsNaN(last) || last > 0.8*first {
		t.Errorf("loss went from %g to %g: %v", first, last, losses)
	}
}

// TestDevicesDoNotChangeTheResult trains on the same batches with one device and with four.
func TestDevicesDoNotChangeTheResult(t *testing.T) {
	one, lossOne := train(t, 1, 3, 64)
	four, lossFour := train(t, 4, 3, 64)
	const tolerance = 1e-9 // other order of summation
	if !floats.EqualApprox(lossOne, lossFour, tolerance) {
		t.Errorf("losses %v and %v", lossOne, lossFour)
	}
	for i, l := range one.replicas[0].model {
		if !floats.EqualApprox(l.params, four.replicas[0].model[i].params, tolerance) {
			t.Errorf("%s: parameters differ", l.path)
		}
	}
}
