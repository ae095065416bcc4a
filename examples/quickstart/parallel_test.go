package main

import (
	"math"
	"testing"

	"go.opentelemetry.io/otel/trace/noop"
	"gonum.org/v1/gonum/floats"

	"github.com/optrace/optrace/internal/check"
)

// train returns a trainer after steps with batches of the given number of rows,
// and the losses.
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
	first, last := losses[0], losses[len(losses)-1]
	if math.IsNaN(last) || last > 0.8*first {
		t.Errorf("loss went from %g to %g: %v", first, last, losses)
	}
}

// TestDevicesDoNotChangeTheResult trains on the same batches with one device
// and with four.
func TestDevicesDoNotChangeTheResult(t *testing.T) {
	one, lossOne := train(t, 1, 3, 64)
	four, lossFour := train(t, 4, 3, 64)
	const tolerance = 1e-9 // sums in another order
	if !floats.EqualApprox(lossOne, lossFour, tolerance) {
		t.Errorf("losses %v and %v", lossOne, lossFour)
	}
	for i, l := range one.replicas[0].model.layers {
		if !floats.EqualApprox(l.params, four.replicas[0].model.layers[i].params, tolerance) {
			t.Errorf("%s: parameters differ", l.path)
		}
	}
}
