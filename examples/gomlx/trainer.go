package main

import (
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/gomlx/gomlx/pkg/ml/train"
)

// trainer trains a model on a backend, and knows nothing of tracing.
type trainer struct {
	ctx     *context.Context // of GoMLX: the variables
	trainer *train.Trainer
	answer  *context.Exec
}

// newTrainer returns a trainer whose weights begin the same for the same seed.
func newTrainer(backend backends.Backend, m *model, seed int64) (*trainer, error) {
	ctx := context.New()
	if err := ctx.SetRNGStateFromSeed(seed); err != nil {
		return nil, err
	}
	t := &trainer{ctx: ctx, trainer: train.NewTrainer(backend, ctx, m.predict, m.loss, m.optimizer(), nil, nil)}
	var err error
	t.answer, err = context.NewExec(backend, ctx.Reuse(), func(ctx *context.Context, images *graph.Node) *graph.Node {
		scores := m.predict(ctx, nil, []*graph.Node{images})[0]
		defer m.enter("")
		return graph.ArgMax(scores, -1)
	})
	return t, err
}

// step runs a training step and returns the loss.
func (t *trainer) step(images, labels *tensors.Tensor) (loss float32, err error) {
	metrics, err := t.trainer.TrainStep(nil, []*tensors.Tensor{images}, []*tensors.Tensor{labels})
	if err != nil {
		return 0, err
	}
	return tensors.ToScalar[float32](metrics[0]), nil
}

// recognised returns how many of the images the model recognises.
func (t *trainer) recognised(images, labels *tensors.Tensor) (right int, err error) {
	answers, err := t.answer.Exec(images)
	if err != nil {
		return 0, err
	}
	got, err := tensors.CopyFlatData[int32](answers[0])
	if err != nil {
		return 0, err
	}
	want, err := tensors.CopyFlatData[int32](labels)
	if err != nil {
		return 0, err
	}
	for i, digit := range want {
		if got[i] == digit {
			right++
		}
	}
	return right, nil
}
