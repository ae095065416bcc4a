package kineto_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
)

// forwardsOf returns the names of the forward operators of the host operators, "" for a missing one, in the order of
// the trace.
func forwardsOf(t *testing.T, trace io.Reader) []string {
	t.Helper()
	var names []string
	entries, _ := recordtest.Split(t, kineto.Records(trace, "trace", nil))
	for _, e := range entries {
		if e.DeviceID == "cpu" {
			name := ""
			if a := opmodel.FindAttr(e.Attrs, "tensor.autograd.forward.name"); a != nil {
				name = a.Value
			}
			names = append(names, name)
		}
	}
	return names
}

// operator is the text of a host operator with an autograd number.
func operator(name string, pid, tid, ts, number, forward int) string {
	return fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":%q,"pid":%d,"tid":%d,"ts":%d,"dur":1,`+
		`"args":{"Sequence number":%d,"Fwd thread id":%d}}`, name, pid, tid, ts, number, forward)
}

func TestGradients(t *testing.T) {
	text := "[" + strings.Join([]string{
		operator("aten::linear", 1, 1, 0, 4, 0), operator("aten::t", 1, 1, 1, 4, 0), operator("aten::addmm", 1, 1, 2, 5,
			0),
		operator("aten::max_pool2d_with_indices", 1, 1, 3, 6, 0), operator("aten::relu_", 1, 1, 4, 7, 0),
		operator("aten::relu_", 1, 2, 5, 7, 0),
		operator("autograd::engine::evaluate_function: MaxPool2DWithIndicesBackward0", 1, 3, 10, 6, 1),
		operator("AddmmBackward0", 1, 3, 11, 5, 1),
		operator("TBackward0", 1, 3, 12, 4, 1), operator("ReluBackward0", 1, 3, 13, 7, 1),
		operator("CppNode<AddmmBackward0>", 1, 3, 14, 5, 1),
		operator("SplitBackward0", 1, 3, 15, 5, 1), operator("AddmmBackward0", 2, 3, 16, 5, 1),
		operator("aten::addmm", 1, 1, 20, 5, 0),
	}, ",") + "]"
	var attrs string
	entries, _ := recordtest.Split(t, kineto.Records(strings.NewReader(text), "trace", nil))
	for _, e := range entries {
		if e.Operation == "AddmmBackward0" || e.Operation == "aten::t" {
			attrs += fmt.Sprintln(e.Operation, e.Attrs)
		}
	}
	check.Equal(t, "attributes", `aten::t [{tensor.autograd.sequence 4 1} {thread.id 1 1}]
AddmmBackward0 [{tensor.autograd.sequence 5 1} {tensor.autograd.forward.thread 1 1} {tensor.autograd.forward.name aten::addmm 0} {thread.id 3 1}]
AddmmBackward0 [{tensor.autograd.sequence 5 1} {tensor.autograd.forward.thread 1 1} {thread.id 3 1}]
`, attrs)
	want := []string{"", "", "", "", "", "", "aten::max_pool2d_with_indices", "aten::addmm", "aten::t", "", "", "", "",
		""}
	check.Equal(t, "forward operators", want, forwardsOf(t, strings.NewReader(text)))
}

// Forward operators agree with a search of all operators for each backward operator.
func TestGradientsAgainstNaive(t *testing.T) {
	cases.Seeds(t, 100, func(seed uint64, r *rand.Rand) {
		type event struct {
			kind                         string
			pid, tid, ts, number, thread int
		}
		var events []event
		var texts []string
		for i := range r.IntN(60) {
			e := event{[]string{"Mul", "Addmm"}[r.IntN(2)], 1 + r.IntN(2), 1 + r.IntN(2)/(1+int(seed%2)), r.IntN(50),
				r.IntN(5), r.IntN(2)}
			name := map[bool]string{true: e.kind + "Backward0", false: "aten::" + strings.ToLower(e.kind)}[e.thread > 0]
			events = append(events, e)
			texts = append(texts, operator(name, e.pid, e.tid, e.ts*100+i, e.number, e.thread))
			events[i].ts = e.ts*100 + i
		}
		var want []string
		for _, b := range events {
			name := ""
			threads := map[int]bool{}
			for _, f := range events {
				if b.thread > 0 && f.thread == 0 && f.number == b.number && f.pid == b.pid && f.kind == b.kind &&
					f.ts < b.ts {
					name = "aten::" + strings.ToLower(f.kind)
					threads[f.tid] = true
				}
			}
			if len(threads) > 1 {
				name = ""
			}
			want = append(want, name)
		}
		check.Equal(t, fmt.Sprint("seed ", seed), want,
			forwardsOf(t, strings.NewReader("["+strings.Join(texts, ",")+"]")))
	})
}

// The forward operators of recorded backward operators. They agree with the arrows of the traces, if recorded.
func TestRecordedGradients(t *testing.T) {
	for name, want := range map[string]map[string]int{
		"mi250_minitoy_train_ROCm6_2_kineto.json.gz": {"aten::addmm": 2, "aten::mse_loss": 2, "aten::relu": 2,
			"aten::t": 2},
		"nccl_data.json.gz": {
			"aten::_log_softmax": 6, "aten::add_": 96, "aten::addmm": 6, "aten::convolution": 318,
			"aten::cudnn_batch_norm": 318, "aten::div": 6,
			"aten::max_pool2d_with_indices": 6, "aten::mean": 6, "aten::mul": 6, "aten::neg": 6, "aten::relu_": 294,
			"aten::sum": 6, "aten::t": 6,
			"aten::view": 6,
		},
		"sampled_rank-0.json.gz": {
			"All2All_Pooled_Req": 4, "All2All_Pooled_Wait": 4, "aten::_softmax": 4, "aten::addmm": 75, "aten::bmm": 26,
			"aten::div":    4,
			"aten::gather": 4, "aten::logit": 8, "aten::max": 4, "aten::mean": 8, "aten::mm": 16, "aten::mul": 2,
			"aten::native_layer_norm": 2,
			"aten::sqrt":              4,
		},
	} {
		got := make(map[string]int)
		for _, forward := range forwardsOf(t, openRecorded(t, name)) {
			got[forward]++
		}
		delete(got, "")
		check.Equal(t, name, want, got)
	}
}
