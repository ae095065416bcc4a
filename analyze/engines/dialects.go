package engines

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// field is what an attribute of a request tells.
type field int

// Times come first, then numbers, then texts.
const (
	queue    field = iota
	prefill        // up to the first token
	decode         // from there to the last one
	execute        // in the model, where an engine divides it no further
	toFirst        // from the start of the request to its first token
	perToken       // between two tokens
	total          // of the request
	other          // what its parts leave of that
	tokensIn
	tokensOut
	model
	route
	tenant
	mark // tells the dialect alone

	numNumbers = int(model)
)

// unit is what the value of an attribute is in.
type unit int

const (
	count unit = iota
	text
	seconds
	milliseconds
	words // a duration as Rust prints it, such as 735.2ms
)

// attribute is what the value of a key means.
type attribute struct {
	key  string
	as   field
	unit unit
}

// dialect is how an engine tells of its requests.
type dialect struct {
	name string
	// sources are the repository and its files that set the names, at a commit where that is known.
	sources string
	// span is what the names of the spans have in them, "" where attributes tell them. They have one of the keys of any, where
	// there are some, and none of those of none. is lists the whole names, nil for any.
	span          string
	is, any, none []string
	// below has the spans below the request whose times are parts of its own. Where queued is set, the time in front of
	// the first of them is the queue.
	below  map[string]field
	queued bool
	// prefillQueues is set where what the engine calls prefill begins with the queue.
	prefillQueues bool
}

// latencies are attributes that several engines took from vLLM.
var latencies = []string{
	"gen_ai.latency.e2e", "gen_ai.latency.time_to_first_token", "gen_ai.latency.time_in_queue", "gen_ai.latency.time_in_model_prefill",
}

// dialects is the table of dialects; the first that fits a span counts.
var dialects = []dialect{
	// A worker's span, engine.generate, has the same keys for its part of a request.
	{
		name: "dynamo", sources: "ai-dynamo/dynamo lib/runtime/src/logging.rs, lib/llm/src/http/service/metrics.rs, generate.rs",
		is: []string{"http-request", "generate"}, any: []string{"ttft_ms", "avg_itl_ms"},
	},
	{
		name: "tgi", sources: "huggingface/text-generation-inference router/src/server.rs",
		any: []string{"time_per_token"},
	},
	{
		name: "triton", sources: "triton-inference-server/server src/tracer.cc",
		any: []string{"triton.model_name"}, below: map[string]field{"compute": execute}, queued: true,
	},
	{
		name: "llm-d", sources: "llm-d/llm-d-router pkg/sidecar/proxy/connector_nixlv2.go@0545789, connector_sglang.go, chat_completions.go",
		any: []string{"llm_d.pd_proxy.total_duration_ms", "llm_d.pd_proxy.true_ttft_ms"},
	},
	{
		name: "sglang", sources: "sgl-project/sglang python/sglang/srt/observability/trace.py, req_time_stats.py",
		span: "Req ", any: []string{"rid"}, below: map[string]field{"prefill_waiting": queue}, prefillQueues: true,
	},
	{
		name: "trtllm", sources: "NVIDIA/TensorRT-LLM tensorrt_llm/llmapi/otel_tracing.py",
		span: "llm_request", any: latencies,
		none: []string{"gen_ai.latency.time_in_model_prefill", "gen_ai.latency.time_in_scheduler", "gen_ai.usage.num_sequences"},
	},
	{
		name: "vllm", sources: "vllm-project/vllm vllm/tracing/utils.py, vllm/v1/engine/output_processor.py",
		span: "llm_request",
	},
	{
		name: "gen_ai", sources: "open-telemetry/semantic-conventions docs/gen-ai/gen-ai-spans.md@01d9450",
		any: append([]string{
			attrkey.InputTokens, attrkey.OutputTokens, "gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens",
		}, latencies...),
	},
}

// attributes is the table of attributes, for all dialects: where keys tell the same, the first counts.
var attributes = []attribute{
	{"gen_ai.latency.time_in_queue", queue, seconds},
	{"queue_time", queue, words},
	{"gen_ai.latency.time_in_model_prefill", prefill, seconds},
	{"gen_ai.latency.time_in_model_decode", decode, seconds},
	{"gen_ai.latency.time_in_model_inference", execute, seconds},
	{"gen_ai.latency.time_in_model_execute", execute, seconds},
	{"inference_time", execute, words},
	{"llm_d.pd_proxy.prefill_duration_ms", prefill, milliseconds},
	{"llm_d.pd_proxy.decode_duration_ms", decode, milliseconds},
	{"llm_d.pd_proxy.true_ttft_ms", toFirst, milliseconds},
	{"llm_d.pd_proxy.total_duration_ms", total, milliseconds},
	{"gen_ai.latency.time_to_first_token", toFirst, seconds},
	{"ttft_ms", toFirst, milliseconds},
	{"avg_itl_ms", perToken, milliseconds},
	{"time_per_token", perToken, words},
	{"gen_ai.latency.e2e", total, seconds},
	{"total_time", total, words},

	{attrkey.InputTokens, tokensIn, count},
	{"gen_ai.usage.prompt_tokens", tokensIn, count},
	{"input_tokens", tokensIn, count},
	{attrkey.OutputTokens, tokensOut, count},
	{"gen_ai.usage.completion_tokens", tokensOut, count},
	{"output_tokens", tokensOut, count},

	{attrkey.RequestModel, model, text},
	{"gen_ai.response.model", model, text},
	{"triton.model_name", model, text},
	{"model", model, text},
	{attrkey.RequestRoute, route, text},
	{"url.path", route, text},
	{"http.target", route, text},
	{"llm_d.pd_proxy.request_path", route, text},
	{"uri", route, text},
	{attrkey.Tenant, tenant, text},

	{"rid", mark, text},
	{"gen_ai.operation.name", mark, text},
	{"gen_ai.latency.time_in_scheduler", mark, text},
	{"gen_ai.usage.num_sequences", mark, text},
}

// Keys returns the keys of the attributes that tell of requests.
func Keys() []string {
	keys := make([]string, len(attributes))
	for i, a := range attributes {
		keys[i] = a.key
	}
	return keys
}

// others are the values of gen_ai.operation.name of what is no request to a model.
var others = []string{"create_agent", "invoke_agent", "invoke_workflow", "execute_tool", "retrieval"}

// dialectOf returns the number of the dialect of a span of a name, -1 for one that is no request.
func dialectOf(name string, attrs []op.Attr) int {
	has := func(key string) bool { return opmodel.FindAttr(attrs, key) != nil }
	for _, a := range attrs {
		if a.Key == "gen_ai.operation.name" && slices.Contains(others, a.Value) {
			return -1
		}
	}
	return slices.IndexFunc(dialects, func(d dialect) bool {
		return strings.Contains(name, d.span) && (d.is == nil || slices.Contains(d.is, name)) &&
			(len(d.any) == 0 || slices.ContainsFunc(d.any, has)) && !slices.ContainsFunc(d.none, has)
	})
}

// Dialect returns the name of the dialect of a span that is a request, "" for another. The span has the
// attributes of [Keys].
func Dialect(s *op.Span) string {
	if d := dialectOf(s.Name, s.Attrs); d >= 0 {
		return dialects[d].name
	}
	return ""
}

// number reads a value as a count or as nanoseconds.
func (a *attribute) number(value string) op.Int {
	const most = 1 << 60
	switch a.unit {
	case count:
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 && n < most {
			return op.Known(n)
		}
		return op.Int{}
	case words:
		if d, err := time.ParseDuration(strings.Trim(value, `"`)); err == nil && d >= 0 && d < most {
			return op.Known(int64(d))
		}
		return op.Int{}
	}
	scale := 1e9
	if a.unit == milliseconds {
		scale = 1e6
	}
	if v, err := strconv.ParseFloat(value, 64); err == nil && v >= 0 && v*scale < most {
		return op.Known(int64(math.Round(v * scale)))
	}
	return op.Int{}
}
