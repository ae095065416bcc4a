package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/examples/gomlx/stepping"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

// runIn runs the program and returns what it printed.
func runIn(t *testing.T, ctx context.Context, cfg config) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(ctx, cfg, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// read returns what a run wrote.
func read(t *testing.T, dir string) (entries []*op.Entry, spans []*op.Span) {
	t.Helper()
	for rec, err := range ingest.Open(filepath.Join(dir, "ops.jsonl")).Records() {
		switch {
		case err != nil:
			t.Fatal(err)
		case rec.Entry != nil:
			entries = append(entries, rec.Entry.Clone())
		case rec.Span != nil:
			spans = append(spans, rec.Span.Clone())
		case rec.Gap != nil:
			t.Errorf("%d operations were lost: %s", rec.Gap.Dropped, rec.Gap.Reason)
		}
	}
	return entries, spans
}

func TestRunWritesWhatItDid(t *testing.T) {
	const epochs, steps = 2, 3
	cfg := config{epochs: epochs, steps: steps, dir: filepath.Join(t.TempDir(), "new", "directory")}
	out := runIn(t, t.Context(), cfg)
	entries, spans := read(t, cfg.dir)

	t.Run("operations are described", func(t *testing.T) {
		for _, e := range entries {
			if err := e.Validate(); err != nil || e.Warn != 0 {
				t.Errorf("%s: %v, warnings %b", e.Operation, err, e.Warn)
			}
			if e.DeviceID != "cpu:0" || e.Service != "gomlx" || e.Path == "" || e.OutputShape == nil || e.InputShapes == nil || e.DType == "" ||
				e.Kind != op.KindCompute && e.Kind != op.KindMemory {
				t.Errorf("incomplete: %+v", e)
			}
			if product := e.Operation == "Dot" || e.Operation == "DotGeneral"; product != e.FLOPs.Known {
				t.Errorf("%s: FLOPs %v", e.Operation, e.FLOPs)
			}
		}
	})

	t.Run("steps and roots", func(t *testing.T) {
		parent := make(map[op.SpanID]string)
		got := make(map[string]int)
		for _, s := range spans {
			parent[s.SpanID] = s.Name
			got[s.Name]++
		}
		if diff := cmp.Diff(map[string]int{"train.epoch": epochs, "train.step": epochs * steps, "evaluate": epochs}, got); diff != "" {
			t.Errorf("spans (-want +got):\n%s", diff)
		}
		operations := make(map[op.Int]int) // in each step
		for _, e := range entries {
			operations[e.Step]++
			if name := parent[e.ParentSpanID]; e.Root != "train.epoch" || (name == "train.step") != e.Step.Known {
				t.Errorf("%s: below %q, root %q, step %v", e.Operation, name, e.Root, e.Step)
			}
		}
		for step := range int64(epochs * steps) {
			if n := operations[op.Known(step)]; n == 0 || step > 0 && n != operations[op.Known(1)] {
				t.Errorf("%d operations in step %d, %d in the second one", n, step, operations[op.Known(1)])
			}
		}
	})

	t.Run("every part of the model has operations", func(t *testing.T) {
		paths := make(map[string]bool)
		for _, e := range entries {
			paths[e.Path] = true
		}
		for _, want := range []string{"patches", "conv", "pool", "flatten", "hidden_0", "scores", "loss", "backward", "update"} {
			if !paths[want] {
				t.Errorf("no operation of %s among those of %v", want, paths)
			}
		}
	})

	t.Run("the report and the page", func(t *testing.T) {
		for _, want := range []string{"new images recognised", " 0 dropped", " operations ", "DotGeneral", "The bound is"} {
			if !strings.Contains(out, want) {
				t.Errorf("output lacks %q:\n%s", want, out)
			}
		}
		page, err := os.ReadFile(filepath.Join(cfg.dir, "ops.html"))
		if err != nil || !bytes.Contains(page, []byte("DotGeneral")) {
			t.Errorf("page of %d bytes without the operations, %v", len(page), err)
		}
	})
}

func TestRunInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out := runIn(t, ctx, config{epochs: 1, steps: 1, dir: t.TempDir()}); !strings.Contains(out, "interrupted") {
		t.Errorf("output:\n%s", out)
	}
}

func TestRunRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]config{
		"negative epochs":                     {epochs: -1, steps: 1, dir: t.TempDir()},
		"negative steps":                      {epochs: 1, steps: -1, dir: t.TempDir()},
		"a file to write into as a directory": {dir: file},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), cfg, &bytes.Buffer{}); err == nil {
				t.Error("no error")
			}
		})
	}
}

// plain returns GoMLX's backend in Go.
func plain(t *testing.T, config string) backends.Backend {
	t.Helper()
	b, err := simplego.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// trained is what training leaves behind.
type trained struct {
	losses  []float32
	weights map[string][]float32
	right   int // of 200 images
}

// trainOn trains the model of the program on a backend.
func trainOn(t *testing.T, backend backends.Backend, steps int) trained {
	t.Helper()
	tr, err := newTrainer(backend, &model{convolution: true, hidden: []int{32}, enter: func(string) {}}, seed)
	if err != nil {
		t.Fatal(err)
	}
	data := newDigits(seed)
	result := trained{weights: make(map[string][]float32)}
	for range steps {
		loss, err := tr.step(data.batch(rows))
		if err != nil {
			t.Fatal(err)
		}
		result.losses = append(result.losses, loss)
	}
	if result.right, err = tr.recognised(data.batch(200)); err != nil {
		t.Fatal(err)
	}
	for v := range tr.ctx.IterVariables() {
		if !v.Trainable {
			continue
		}
		values, err := v.Value()
		if err != nil {
			t.Fatal(err)
		}
		if result.weights[v.ScopeAndName()], err = tensors.CopyFlatData[float32](values); err != nil {
			t.Fatal(err)
		}
	}
	return result
}

// TestTrainingConverges trains for two epochs of the program; one who guesses recognises
// 20 of 200 images, at a loss of 2.3.
func TestTrainingConverges(t *testing.T) {
	got := trainOn(t, stepping.New(plain(t, sequential), nil, "cpu:0"), 120)
	last := got.losses[len(got.losses)-10:]
	if worst := slices.Max(last); !(worst < 1) || got.right < 160 {
		t.Errorf("%d of 200 images recognised, want 160; the last losses are %v, want less than 1", got.right, last)
	}
}

// TestSteppingChangesNothing trains with and without the stepping backend. The results are
// equal to the last bit: the same kernels compute them from the same values, in orders that
// do not matter to them.
func TestSteppingChangesNothing(t *testing.T) {
	const steps = 6
	want := trainOn(t, plain(t, sequential), steps)
	if len(want.weights) != 6 {
		t.Fatalf("%d variables, want weights and biases of three layers", len(want.weights))
	}
	for name, config := range map[string]string{"one goroutine": sequential, "several goroutines": ""} {
		t.Run(name, func(t *testing.T) {
			got := trainOn(t, stepping.New(plain(t, config), nil, "cpu:0"), steps)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(trained{})); diff != "" {
				t.Errorf("results (-plain +stepping):\n%s", diff)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	sdk, err := optrace.Setup(filepath.Join(t.TempDir(), "ops.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer sdk.Shutdown(context.WithoutCancel(t.Context()))
	c := contests()[0]
	c.steps = 2
	var out bytes.Buffer
	// GoMLX's own way to run operations side by side has a data race, which the race detector
	// would report.
	if err := c.run(t.Context(), sdk, [2]string{sequential, sequential}, &out); err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`^8 images, layer of 8\t\d{3}\t(\d+\.\d{3} ms, \d+\.\d\d\t){4}\n$`)
	if !row.MatchString(out.String()) {
		t.Errorf("row %q", &out)
	}
}
