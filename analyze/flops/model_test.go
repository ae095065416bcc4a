package flops_test

import (
	"os"
	"testing"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/ingest/ort"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// modelOperations calls f with the operations of a recorded run of a model.
func modelOperations(t *testing.T, f func(e *op.Entry)) {
	t.Helper()
	file := check.Must(os.Open("../../ingest/ort/testdata/ocr.json"))(t)
	defer file.Close()
	for rec, err := range ort.Records(file, "ocr.json", nil) {
		check.OK(t, err)
		if rec.Entry != nil {
			f(rec.Entry)
		}
	}
}

// countConvolution adds up the products and sums of a convolution, output by output.
func countConvolution(e *op.Entry) (n int64) {
	w, out := e.InputShapes[1], e.OutputShape
	for range out[0] * out[1] * out[2] * out[3] {
		for range w[1] { // the channels of a group
			n += 2 * w[2] * w[3]
		}
	}
	return n
}

func TestConvolutionsOfAModel(t *testing.T) {
	byHand := map[string]int64{
		"batch_norm_2.tmp_2_nchwc":       1_658_880,  // 2 · 16·24·80 outputs · 3 channels · 3·3
		"depthwise_conv2d_0.tmp_0_nchwc": 552_960,    // 2 · 16·24·80 · 1 · 3·3
		"conv2d_186.tmp_0_nchwc":         1_966_080,  // 2 · 32·24·80 · 16
		"depthwise_conv2d_1.tmp_0_nchwc": 1_105_920,  // 2 · 32·24·80 · 1 · 3·3
		"conv2d_187.tmp_0_nchwc":         7_864_320,  // 2 · 64·24·80 · 32
		"conv2d_203.tmp_0_nchwc":         55_296_000, // 2 · 480·3·40 · 480
		"batch_norm_3.tmp_2_nchwc":       3_686_400,  // 2 · 64·1·20 · 480 · 1·3
		"batch_norm_6.tmp_2_nchwc":       7_372_800,  // 2 · 64·1·20 · 960 · 1·3
	}
	seen, convolutions := map[string]int64{}, 0
	modelOperations(t, func(e *op.Entry) {
		if e.Operation != "Conv" {
			return
		}
		convolutions++
		got := flops.Of(e).FLOPs
		if want := countConvolution(e); got != op.Known(want) {
			t.Errorf("%s: %v, want %d", e.Path, got, want)
		}
		if _, ok := byHand[e.Path]; ok {
			seen[e.Path] = got.V
		}
	})
	check.Equal(t, "by hand", byHand, seen)
	check.Equal(t, "convolutions", 11, convolutions)
}

func TestOperationsOfAModel(t *testing.T) {
	sums, unknown := map[string]int64{}, map[string]int{}
	modelOperations(t, func(e *op.Entry) {
		if w := flops.Of(e); w.FLOPs.Known {
			sums[e.Operation] += w.FLOPs.V
		} else {
			unknown[e.Operation]++
		}
	})
	// 4 products of 20×120 by 120×360, 120×120, 120×240 and 240×120, each twice, and
	// twice 8 heads of 20×15 by 15×20 and of 20×20 by 20×15.
	check.Equal(t, "MatMul", int64(2*2*(20*120*(360+120+240+240)+2*8*20*15*20)), sums["MatMul"])
	if want := int64(2 * 20 * 120 * 6625); sums["FusedMatMul"] != want { // the first one transposed, the other one packed
		t.Errorf("FusedMatMul: %d, want %d", sums["FusedMatMul"], want)
	}
	if want := int64(5 * 5 * 20 * 120); sums["LayerNormalization"] != want { // five, with weights
		t.Errorf("LayerNormalization: %d, want %d", sums["LayerNormalization"], want)
	}
	check.Equal(t, "Softmax", int64(5*(2*8*20*20+20*6625)), sums["Softmax"])
	check.Equal(t, "unknown", map[string]int{"AveragePool": 1, "Shape": 3}, unknown)
}
