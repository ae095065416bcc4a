package marks_test

import (
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
		{"train_step_31", true, n(31), none, none, ""},
		{":iteration 4", true, n(4), none, none, ""},
		{"train#step_num=9,_r=1#", true, n(9), none, none, ""},
		{"Optimizer.step#SGD.step", false, none, none, none, "optimizer"},
		{"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", false, none, none, none, "data"},
		{"nccl:all_reduce", false, none, none, none, "communication"},
		{"## forward ##", false, none, none, none, "forward"},
		{"forward-compute", false, none, none, none, "forward"},
		{"batch-generator", false, none, none, none, "data"},
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
