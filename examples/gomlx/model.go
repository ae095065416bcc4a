package main

import (
	"strconv"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/gomlx/gomlx/pkg/ml/layers"
	"github.com/gomlx/gomlx/pkg/ml/layers/activations"
	"github.com/gomlx/gomlx/pkg/ml/train/losses"
	"github.com/gomlx/gomlx/pkg/ml/train/optimizers"
)

// model is a network, and how it is trained. Its methods build graphs.
type model struct {
	// hidden are the widths of the fully connected layers in front of the last one.
	hidden []int
	// convolution says that a convolution is in front of them.
	convolution bool
	// enter is told the name of each part before the operations of that part are built.
	enter func(path string)
}

// predict is the network: images in, a score for each digit out.
func (m *model) predict(ctx *context.Context, _ any, inputs []*graph.Node) []*graph.Node {
	x := inputs[0]
	if m.convolution {
		x = m.convolve(ctx.In("conv"), x)
	}
	m.enter("flatten")
	x = graph.Reshape(x, x.Shape().Dim(0), -1)
	for i, width := range m.hidden {
		name := "hidden_" + strconv.Itoa(i)
		m.enter(name)
		x = activations.Relu(layers.DenseWithBias(ctx.In(name), x, width))
	}
	m.enter("scores")
	return []*graph.Node{layers.DenseWithBias(ctx.In("scores"), x, classes)}
}

// convolve is a convolution of the images, followed by pooling. It is a product of weights
// and the patches of an image: GoMLX's backend in Go has convolutions, but not the Reverse
// that their gradient takes.
func (m *model) convolve(ctx *context.Context, images *graph.Node) *graph.Node {
	const filters, size, pool = 8, 3, 2
	m.enter("patches")
	height, width := images.Shape().Dim(1)-size+1, images.Shape().Dim(2)-size+1
	var patches []*graph.Node
	for y := range size {
		for x := range size {
			patches = append(patches,
				graph.Slice(images, graph.AxisRange(), graph.AxisRange(y, y+height), graph.AxisRange(x, x+width), graph.AxisRange()))
		}
	}
	x := graph.Concatenate(patches, -1)
	m.enter("conv")
	x = activations.Relu(layers.DenseWithBias(ctx, x, filters))
	m.enter("pool")
	x = graph.Reshape(x, x.Shape().Dim(0), height/pool, pool, width/pool, pool, filters)
	return graph.ReduceMax(x, 2, 4)
}

// loss is the cross entropy of what is predicted and the labels.
func (m *model) loss(labels, predictions []*graph.Node) *graph.Node {
	m.enter("loss")
	return losses.SparseCategoricalCrossEntropyLogits(labels, predictions)
}

// optimizer is an optimizer of GoMLX that names the parts of what it builds.
type optimizer struct {
	adam
	model *model
}

// adam is what an optimizer of GoMLX does.
type adam interface {
	optimizers.Interface
	UpdateGraphWithGradients(ctx *context.Context, grads []*graph.Node, lossDType dtypes.DType)
}

func (m *model) optimizer() optimizer {
	return optimizer{optimizers.Adam().LearningRate(0.01).Done().(adam), m}
}

// UpdateGraph builds the gradients of the loss, and a step down.
func (o optimizer) UpdateGraph(ctx *context.Context, _ *graph.Graph, loss *graph.Node) {
	o.model.enter("backward")
	grads := ctx.BuildTrainableVariablesGradientsGraph(loss)
	o.model.enter("update")
	o.UpdateGraphWithGradients(ctx, grads, loss.DType())
	o.model.enter("")
}
