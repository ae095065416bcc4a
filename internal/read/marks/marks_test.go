package marks_test

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/internal/read/marks"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func TestOf(t *testing.T) {
	n := op.Known
	none := op.Int{}
	for _, c := range []struct {
		name                     string
		step                     bool
		number, tokens, requests op.Int
		phase                    string
	}{
		{"ProfilerStep#12", true, n(12), none, none, ""},
		{"execute_context_1(512)_generation_2(2)", true, none, n(514), n(3), "mixed"},
		{"execute_context_3(90)_generation_0(0)", true, none, n(90), n(3), "prefill"},
		{"execute_context_0(0)_generation_8(8)", true, none, n(8), n(8), "decode"},
		{
			"execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)",
			true, none, n(32), n(32), "decode",
		},
		{
			"execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)",
			true, none, n(8192), n(46), "mixed",
		},
		{"execute_new_1_cached_2", true, none, none, n(3), "mixed"},
		{"execute_new_0_cached_2", true, none, none, n(2), "decode"},
		{"step[EXTEND bs=2 toks=4096]", true, none, n(4096), n(2), "prefill"},
		{"step[EXTEND bs=2 toks=12 c_sq=12 c_sqsq=80 c_sqsk=120 c_sk=20]", true, none, n(12), n(2), "prefill"},
		{"step[DECODE bs=16]", true, none, none, n(16), "decode"},
		{"step[DECODE bs=2 g_sq=8 g_sqsq=32 g_sqsk=120 g_sk=30]", true, none, n(8), n(2), "decode"},
		{"step[MIXED bs=3]", true, none, none, n(3), "mixed"},
		{
			"step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=1 g_sk=12 g_sqsq=1 g_sqsk=12]",
			true, none, n(6), n(2), "mixed",
		},
		{
			"step[MIXED bs=1 c=1 g=0 c_sq=3 c_sk=3 c_sqsq=9 c_sqsk=9 g_sq=0 g_sk=0 g_sqsq=0 g_sqsk=0]",
			true, none, n(3), n(1), "prefill",
		},
		{"step[TARGET_VERIFY bs=4]", true, none, none, n(4), "decode"},
		{"step[IDLE bs=0]", true, none, none, n(0), ""},
		{"[Executor] _forward_step 7: 1 ctx reqs, 64 ctx tokens, 3 gen reqs", true, n(7), none, n(4), "mixed"},
		{"[Executor] _forward_step 8: 0 ctx reqs, 3 gen reqs", true, n(8), none, n(3), "decode"},
		{"train_step_31", true, n(31), none, none, ""}, {":iteration 4", true, n(4), none, none, ""},
		{"megatron.train_step", true, none, none, none, ""}, {"megatron.evaluate.step", true, none, none, none, ""},
		{"train#step_num=9,_r=1#", true, n(9), none, none, ""},
		{"Optimizer.step#SGD.step", false, none, none, none, "optimizer"},
		{"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", false, none, none, none, "data"},
		{"nccl:all_reduce", false, none, none, none, "communication"},
		{"## forward ##", false, none, none, none, "forward"},
		{"forward-compute", false, none, none, none, "forward"}, {"batch-generator", false, none, none, none, "data"},
		{"DeepSpeedEngine.backward", false, none, none, none, "backward"},
		{"[pl][profile][LightningModule]Net.optimizer_step", false, none, none, none, "optimizer"},
		{"FSDP::pre_forward (encoder.block.0.layer.1), op_id = 317471", false, none, none, none, "forward"},
		{"ProfilerStep#99999999999999999999", true, none, none, none, ""},
	} {
		m, ok := marks.Of(c.name)
		got := []any{ok, m.IsStep(), m.Number, m.Tokens, m.Requests, m.Phase}
		check.Equal(t, c.name, []any{true, c.step, c.number, c.tokens, c.requests, c.phase}, got)
	}
	for _, name := range []string{
		"", "encoder", "## KJTListAwaitable wait() ##", "step", "stepwise 3 times", "ProfilerStep*",
		"nn.Module: Linear_0",
	} {
		if m, ok := marks.Of(name); ok {
			t.Errorf("%q is known: %+v", name, m)
		}
	}
}

func TestStepsAt(t *testing.T) {
	var steps marks.Steps
	for _, s := range []struct {
		rank       int
		process    int64
		start, end int64
		number     int64
	}{
		{rank: 1, process: 1, start: 20, end: 30, number: 8}, {rank: 1, process: 1, start: 10, end: 20, number: 7},
		{rank: 2, process: 1, start: 30, end: 40, number: 9}, // a profiler's step beside an engine's
		{rank: 2, process: 2, end: 5, number: 1},
		{rank: 1, process: 3, start: 10, end: 20, number: -1}, {rank: 1, process: 3, start: 12, end: 14, number: -1},
		// one in another
		{rank: 1, process: 3, start: 20, end: 25, number: -1},
	} {
		m := marks.Mark{Rank: s.rank}
		if s.number >= 0 {
			m.Number = op.Known(s.number)
		}
		steps.Add(&m, marks.Step{Process: s.process, Start: s.start, End: s.end})
	}
	steps.Settle(func(yield func(uint32, marks.Step) bool) {
		for i := range int64(4) { // "a" comes four times, "b" three times and takes longer; process 1 has marks
			_ = yield(7, marks.Step{Process: 4, Start: 100 * i, End: 100*i + 10, Name: 1}) &&
				(i == 0 || yield(7, marks.Step{Process: 4, Start: 100*i + 20, End: 100*i + 90, Name: 2})) &&
				yield(8, marks.Step{Process: 1, Start: 100 * i, End: 100*i + 90, Name: 3})
		}
	})
	var got []int64
	at := [][2]int64{
		{1, 9}, {1, 10}, {1, 19}, {1, 20}, {1, 29}, {1, 30}, {2, 4}, {2, 15}, {5, 4}, {0, 4},
		{3, 11}, {3, 13}, {3, 19}, {3, 22}, {4, 5}, {4, 30}, {4, 305}, {4, 350},
	}
	for _, a := range at {
		n := int64(-1)
		if s := steps.At(a[0], a[1]); s != nil {
			n = s.Number.V
		}
		got = append(got, n)
	}
	want := []int64{-1, 7, 7, 8, 8, -1, 1, -1, -1, -1, 0, 0, 0, 1, 0, -1, 3, -1}
	check.Equal(t, fmt.Sprintf("steps at %v", at), want, got)
}
