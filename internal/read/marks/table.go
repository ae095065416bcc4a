package marks

import "regexp"

type rule struct {
	source  string // the file that sets the name
	has     string // a part of each of these names, in lower case; "" for rules without one
	pattern *regexp.Regexp
	phase   string // "" for a step
}

func step(source, has, pattern string) rule {
	return rule{source, has, regexp.MustCompile(pattern), ""}
}

func phase(source, has, pattern, phase string) rule {
	return rule{source, has, regexp.MustCompile(pattern), phase}
}

// Sources of several rules.
const (
	vllm      = "vllm-project/vllm vllm/v1/worker/gpu_worker.py annotate_profile"
	fsdp      = "pytorch/pytorch torch/distributed/fsdp"
	deepSpeed = "deepspeedai/DeepSpeed deepspeed/utils/nvtx.py, deepspeed/runtime/engine.py"
	lightning = "Lightning-AI/pytorch-lightning src/lightning/pytorch/profilers"
)

// rules is the table of patterns; the first match counts. A source is a repository and a file, the function that sets
// the name in a file with many, and the commit if known.
var rules = []rule{
	// Steps of engines. vLLM's cached requests decode or continue a prefill in chunks. The second name is older.
	step(vllm, "execute_context_",
		`^execute_context_(?P<context>\d+)\((?P<contextTokens>\d+)\)_generation_(?P<generation>\d+)\((?P<generationTokens>\d+)\)`),
	step(vllm, "execute_new_", `^execute_new_(?P<context>\d+)_cached_(?P<generation>\d+)$`),
	step("sgl-project/sglang python/sglang/srt/model_executor/step_span_utils.py@2502c66, "+
		"srt/utils/profile_utils.py@0114448", "step[",
		`^step\[(?P<mode>[A-Za-z_0-9]+)(?: bs=(?P<requests>\d+))?(?: (?:toks|g_sq)=(?P<tokens>\d+)| `+
			`c=(?P<context>\d+) g=(?P<generation>\d+) c_sq=(?P<contextTokens>\d+).* `+
			`g_sq=(?P<generationTokens>\d+))?[ \]]`),
	// sq and sk are sums of the lengths of queries and keys, sqsq and sqsk of their products.
	step(vllm, "_context_", `^execute_(?P<tokens>\d+)_context_(?P<context>\d+)\(sq(?P<contextTokens>\d+)sk.*\)`+
		`_generation_(?P<generation>\d+)\(sq(?P<generationTokens>\d+)sk`),
	step("NVIDIA/TensorRT-LLM tensorrt_llm/_torch/pyexecutor/py_executor.py", "_forward_step",
		`^\[Executor\] _forward_step (?P<n>\d+)(?:: (?P<context>\d+) ctx reqs, (?:\d+ ctx tokens, `+
			`)?(?P<generation>\d+) gen reqs)?`),
	step("ai-dynamo/dynamo docs/observability, as package ingest/internal/dynamo names passes", "forward pass: ",
		`^forward pass: (?P<context>\d+) prefill \((?P<contextTokens>\d+) tokens\), (?P<generation>\d+) decode `+
			`\((?P<generationTokens>\d+) tokens\)$`),
	step("Lightning-AI/pytorch-lightning src/lightning/pytorch/loops/training_epoch_loop.py", "run_training_batch",
		`^\[pl\]\[profile\]run_training_batch$`),
	step("jax-ml/jax jax/_src/profiler.py", "step_num=", `^[^#]*#(?:.*,)?step_num=(?P<n>\d+)[,#]`),
	// Steps of programs: step 12, train_step_12, iteration12, iter: 12.
	step("", "", `(?i)^(?:train(?:ing)?|eval|test)?[ _]?(?:step|iter|iteration)[ _:#=]*(?P<n>\d+)$`),
	step("pytorch/pytorch torch/profiler/profiler.py", "profilerstep#", `^ProfilerStep#(?P<n>\d+)$`),
	// megatron.train_step, megatron.evaluate.step and the like have their number in an attribute, or none.
	step("NVIDIA/Megatron-LM docs/user-guide/observability/span-groups.md", "step",
		`^(?:\w+\.)*(?:train(?:ing)?|eval(?:uate|uation)?|valid(?:ation)?)[._]step$`),

	// Phases.
	phase("pytorch/pytorch torch/optim/optimizer.py", "optimizer.", `^Optimizer\.(?:step|zero_grad)#`, Optimizer),
	phase("pytorch/pytorch torch/utils/data/dataloader.py", "dataloader", `^enumerate\(DataLoader\)#`, Data),
	phase("pytorch/pytorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp", ":", `^(?:nccl|gloo|mpi|ucc|xccl|hccl):`,
		Communication),
	phase("pytorch/pytorch torch/nn/parallel/distributed.py", "distributeddataparallel",
		`^DistributedDataParallel\.forward$`, Forward),
	phase(fsdp, "fsdp::", `^FSDP::(?:root_|pre_|post_)+forward`, Forward),
	phase(fsdp, "fsdp::", `^FSDP::(?:root_|pre_|post_)+backward`, Backward),
	phase("pytorch/pytorch torch/csrc/autograd/engine.cpp", "autograd::engine",
		`^autograd::engine::evaluate_function: `, Backward),
	phase(deepSpeed, "deepspeedengine", `^DeepSpeedEngine\.forward$`, Forward),
	phase(deepSpeed, "deepspeedengine", `^DeepSpeedEngine\._?backward`, Backward),
	phase(deepSpeed, "deepspeedengine", `^DeepSpeedEngine\.(?:step|_take_model_step)$`, Optimizer),
	phase(deepSpeed, "deepspeedengine", `^DeepSpeedEngine\.allreduce_gradients$`, Communication),
	phase(lightning, "[pl][profile]", `^\[pl\]\[profile\].*(?:training|validation|test|predict)_step$`, Forward),
	phase(lightning, "[pl][profile]", `^\[pl\]\[profile\].*\.?backward$`, Backward),
	phase(lightning, "[pl][profile]", `^\[pl\]\[profile\].*optimizer_(?:step|zero_grad)`, Optimizer),
	phase(lightning, "[pl][profile]", `^\[pl\]\[profile\].*(?:dataloader_next|batch_to_device)`, Data),
	// Phases of programs, alone or between signs: ## forward ##, backward_pass, [prefill]. Megatron's timers
	// forward-compute and batch-generator are included: Megatron makes no ranges of them (megatron/core/timers.py),
	// but programs do.
	phase("", "", `(?i)^\W*(?:model[ _])?(?:forward|fwd)(?:[ _]pass|-compute)?\W*$`, Forward),
	phase("", "", `(?i)^\W*(?:backward|bwd)(?:[ _]pass|-compute)?\W*$`, Backward),
	phase("", "optimi", `(?i)^\W*optimi[sz]er(?:[ _]step)?\W*$`, Optimizer),
	phase("", "", `(?i)^\W*(?:data[ _]?load(?:ing|er)?|batch-generator)\W*$`, Data),
	phase("", "", `(?i)^\W*(?:communication|all_?reduce)\W*$`, Communication),
	phase("", "prefill", `(?i)^\W*prefill\W*$`, Prefill),
	phase("", "decode", `(?i)^\W*decode\W*$`, Decode),
}

// modes are the phases of SGLang's forward modes, in lower case. A speculative step verifies or drafts tokens of
// decoding requests. An idle step has no phase.
var modes = map[string]string{
	"extend": Prefill, "prefill": Prefill, "split_prefill": Prefill, "decode": Decode, "mixed": Mixed,
	"target_verify": Decode, "verify": Decode, "draft": Decode, "draft_extend": Decode, "draft_extend_v2": Decode,
}
