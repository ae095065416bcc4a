package marks

import "regexp"

// rules is the table of patterns, the first that matches counts. A source is a repository and a file
// of it, with the function that sets the name where the file has many, and the commit at which it was read where
// that is known.
var rules = []struct {
	source  string // the file that sets the name
	has     string // what each of these names has in it, in lower case; "" for several
	pattern *regexp.Regexp
	step    bool
	phase   string
}{
	// Steps of engines. Requests that vLLM calls cached were scheduled before: they decode, or go on
	// with a prefill in chunks. The second name is that of older versions.
	{"vllm-project/vllm vllm/v1/worker/gpu_worker.py annotate_profile", "execute_context_", regexp.MustCompile(
		`^execute_context_(?P<context>\d+)\((?P<contextTokens>\d+)\)_generation_(?P<generation>\d+)\((?P<generationTokens>\d+)\)`),
		true, ""},
	{
		"vllm-project/vllm vllm/v1/worker/gpu_worker.py annotate_profile", "execute_new_",
		regexp.MustCompile(`^execute_new_(?P<context>\d+)_cached_(?P<generation>\d+)$`), true, "",
	},
	{"sgl-project/sglang python/sglang/srt/model_executor/step_span_utils.py@2502c66, srt/utils/profile_utils.py@0114448",
		"step[", regexp.MustCompile(
			`^step\[(?P<mode>[A-Za-z_0-9]+)(?: bs=(?P<requests>\d+))?(?: (?:toks|g_sq)=(?P<tokens>\d+)| ` +
				`c=(?P<context>\d+) g=(?P<generation>\d+) c_sq=(?P<contextTokens>\d+).* g_sq=(?P<generationTokens>\d+))?[ \]]`), true, ""},
	{"NVIDIA/TensorRT-LLM tensorrt_llm/_torch/pyexecutor/py_executor.py", "_forward_step", regexp.MustCompile(
		`^\[Executor\] _forward_step (?P<n>\d+)(?:: (?P<context>\d+) ctx reqs,` +
			` (?:\d+ ctx tokens, )?(?P<generation>\d+) gen reqs)?`), true, ""},
	{
		"Lightning-AI/pytorch-lightning src/lightning/pytorch/loops/training_epoch_loop.py",
		"run_training_batch", regexp.MustCompile(`^\[pl\]\[profile\]run_training_batch$`), true, "",
	},
	{"jax-ml/jax jax/_src/profiler.py", "step_num=", regexp.MustCompile(`^[^#]*#(?:.*,)?step_num=(?P<n>\d+)[,#]`), true, ""},
	// Steps of programs: step 12, train_step_12, iteration12, iter: 12.
	{"", "", regexp.MustCompile(`(?i)^(?:train(?:ing)?|eval|test)?[ _]?(?:step|iter|iteration)[ _:#=]*(?P<n>\d+)$`), true, ""},
	{"pytorch/pytorch torch/profiler/profiler.py", "profilerstep#", regexp.MustCompile(`^ProfilerStep#(?P<n>\d+)$`), true, ""},

	// Phases.
	{"pytorch/pytorch torch/optim/optimizer.py", "optimizer.", regexp.MustCompile(`^Optimizer\.(?:step|zero_grad)#`), false, Optimizer},
	{"pytorch/pytorch torch/utils/data/dataloader.py", "dataloader", regexp.MustCompile(`^enumerate\(DataLoader\)#`), false, Data},
	{
		"pytorch/pytorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp", ":",
		regexp.MustCompile(`^(?:nccl|gloo|mpi|ucc|xccl|hccl):`), false, Communication,
	},
	{
		"pytorch/pytorch torch/nn/parallel/distributed.py", "distributeddataparallel",
		regexp.MustCompile(`^DistributedDataParallel\.forward$`), false, Forward,
	},
	{"pytorch/pytorch torch/distributed/fsdp", "fsdp::", regexp.MustCompile(`^FSDP::(?:root_|pre_|post_)+forward`), false, Forward},
	{"pytorch/pytorch torch/distributed/fsdp", "fsdp::", regexp.MustCompile(`^FSDP::(?:root_|pre_|post_)+backward`), false, Backward},
	{
		"pytorch/pytorch torch/csrc/autograd/engine.cpp", "autograd::engine",
		regexp.MustCompile(`^autograd::engine::evaluate_function: `), false, Backward,
	},
	{
		"deepspeedai/DeepSpeed deepspeed/utils/nvtx.py, deepspeed/runtime/engine.py",
		"deepspeedengine", regexp.MustCompile(`^DeepSpeedEngine\.forward$`), false, Forward,
	},
	{
		"deepspeedai/DeepSpeed deepspeed/utils/nvtx.py, deepspeed/runtime/engine.py",
		"deepspeedengine", regexp.MustCompile(`^DeepSpeedEngine\._?backward`), false, Backward,
	},
	{
		"deepspeedai/DeepSpeed deepspeed/utils/nvtx.py, deepspeed/runtime/engine.py", "deepspeedengine",
		regexp.MustCompile(`^DeepSpeedEngine\.(?:step|_take_model_step)$`), false, Optimizer,
	},
	{
		"deepspeedai/DeepSpeed deepspeed/utils/nvtx.py, deepspeed/runtime/engine.py", "deepspeedengine",
		regexp.MustCompile(`^DeepSpeedEngine\.allreduce_gradients$`), false, Communication,
	},
	{
		"Lightning-AI/pytorch-lightning src/lightning/pytorch/profilers", "[pl][profile]",
		regexp.MustCompile(`^\[pl\]\[profile\].*(?:training|validation|test|predict)_step$`), false, Forward,
	},
	{
		"Lightning-AI/pytorch-lightning src/lightning/pytorch/profilers", "[pl][profile]",
		regexp.MustCompile(`^\[pl\]\[profile\].*\.?backward$`), false, Backward,
	},
	{
		"Lightning-AI/pytorch-lightning src/lightning/pytorch/profilers", "[pl][profile]",
		regexp.MustCompile(`^\[pl\]\[profile\].*optimizer_(?:step|zero_grad)`), false, Optimizer,
	},
	{
		"Lightning-AI/pytorch-lightning src/lightning/pytorch/profilers", "[pl][profile]",
		regexp.MustCompile(`^\[pl\]\[profile\].*(?:dataloader_next|batch_to_device)`), false, Data,
	},
	// Phases of programs, alone or between signs: ## forward ##, backward_pass, [prefill]. The names of Megatron's
	// timers, forward-compute and batch-generator, are there as well: it makes no ranges of them itself
	// (megatron/core/timers.py), but programs do.
	{"", "", regexp.MustCompile(`(?i)^\W*(?:model[ _])?(?:forward|fwd)(?:[ _]pass|-compute)?\W*$`), false, Forward},
	{"", "", regexp.MustCompile(`(?i)^\W*(?:backward|bwd)(?:[ _]pass|-compute)?\W*$`), false, Backward},
	{"", "optimi", regexp.MustCompile(`(?i)^\W*optimi[sz]er(?:[ _]step)?\W*$`), false, Optimizer},
	{"", "", regexp.MustCompile(`(?i)^\W*(?:data[ _]?load(?:ing|er)?|batch-generator)\W*$`), false, Data},
	{"", "", regexp.MustCompile(`(?i)^\W*(?:communication|all_?reduce)\W*$`), false, Communication},
	{"", "prefill", regexp.MustCompile(`(?i)^\W*prefill\W*$`), false, Prefill},
	{"", "decode", regexp.MustCompile(`(?i)^\W*decode\W*$`), false, Decode},
}

// modes are the phases of SGLang's forward modes, in lower case: a speculative step verifies or drafts
// tokens of requests that decode. One that is idle is none.
var modes = map[string]string{
	"extend": Prefill, "prefill": Prefill, "split_prefill": Prefill, "decode": Decode, "mixed": Mixed,
	"target_verify": Decode, "verify": Decode, "draft": Decode, "draft_extend": Decode, "draft_extend_v2": Decode,
}
