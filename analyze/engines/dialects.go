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

// field is the meaning of an attribute of a request.
type field int

// Times come first, then numbers, then texts.
const (
	queue    field = iota
	prefill        // up to the first token
	decode         // from the first token to the last
	execute        // in the model, if not divided
	toFirst        // from the start of the request to its first token
	perToken       // between two tokens
	total          // of the request
	other          // total minus the parts
	tokensIn
	tokensOut
	tokensCached // of tokensIn, read from a cache
	model
	route
	tenant
	mark // only identifies the dialect

	numNumbers = int(model)
)

type unit int

const (
	count unit = iota
	text
	seconds
	milliseconds
	words // a duration printed by Rust, such as 735.2ms
)

// attribute is the meaning of an attribute key.
type attribute struct {
	key  string
	as   field
	unit unit
}

// dialect describes how an engine reports its requests.
type dialect struct {
	name    string
	sources string // the repository and files with the definitions of the names, at a commit if known
	// span is a part of the span name, "" for any. is lists the whole names, nil for any. A span needs one of
	// the keys in any, if not empty, and must not have a key in none.
	span          string
	is, any, none []string
	// below maps names of spans below the request to parts of its time. With queued, the time before the first of
	// them is the queue.
	below           map[string]field
	queued          bool
	prefillQueues   bool // set if the engine's prefill includes the queue
	prefillPerToken bool // set if the engine's time per token includes the prefill
}

// latencies lists attributes adopted from vLLM by several engines.
var latencies = []string{
	"gen_ai.latency.e2e", "gen_ai.latency.time_to_first_token", "gen_ai.latency.time_in_queue",
	"gen_ai.latency.time_in_model_prefill",
}

var dialects = []dialect{
	// Spans engine.generate of workers have the same keys for their part of a request.
	{
		name:    "dynamo",
		sources: "ai-dynamo/dynamo lib/runtime/src/logging.rs, lib/llm/src/http/service/metrics.rs, generate.rs",
		is:      []string{"http-request", "generate"}, any: []string{"ttft_ms", "avg_itl_ms", "request_received_ms"},
	},
	{
		name: "tgi", sources: "huggingface/text-generation-inference router/src/server.rs",
		any: []string{"time_per_token"}, prefillPerToken: true,
	},
	{
		name: "triton", sources: "triton-inference-server/server src/tracer.cc",
		any: []string{"triton.model_name"}, below: map[string]field{"compute": execute}, queued: true,
	},
	{
		name: "llm-d",
		sources: "llm-d/llm-d-router pkg/sidecar/proxy/connector_nixlv2.go@0545789, connector_sglang.go, " +
			"chat_completions.go",
		any: []string{"llm_d.pd_proxy.total_duration_ms", "llm_d.pd_proxy.true_ttft_ms"},
	},
	{
		name: "sglang", sources: "sgl-project/sglang python/sglang/srt/observability/trace.py, req_time_stats.py",
		span: "Req ", any: []string{"rid"}, below: map[string]field{"prefill_waiting": queue}, prefillQueues: true,
	},
	{
		name: "trtllm", sources: "NVIDIA/TensorRT-LLM tensorrt_llm/llmapi/otel_tracing.py",
		span: "llm_request", any: latencies,
		none: []string{
			"gen_ai.latency.time_in_model_prefill", "gen_ai.latency.time_in_scheduler", "gen_ai.usage.num_sequences",
		},
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

// attributes lists the attributes of all dialects. Of several keys with one meaning the first counts.
var attributes = []attribute{
	{"gen_ai.latency.time_in_queue", queue, seconds},
	{"queue_time", queue, words},
	{"prefill_wait_time_ms", queue, milliseconds},
	{"gen_ai.latency.time_in_model_prefill", prefill, seconds},
	{"prefill_time_ms", prefill, milliseconds},
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
	{"total_time_ms", total, milliseconds},

	{attrkey.InputTokens, tokensIn, count},
	{"gen_ai.usage.prompt_tokens", tokensIn, count},
	{"input_tokens", tokensIn, count},
	{attrkey.OutputTokens, tokensOut, count},
	{"gen_ai.usage.completion_tokens", tokensOut, count},
	{"output_tokens", tokensOut, count},
	{"gen_ai.usage.cache_read.input_tokens", tokensCached, count},
	{"cached_tokens", tokensCached, count},

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
	{"request_received_ms", mark, text},
	{"gen_ai.operation.name", mark, text},
	{"gen_ai.latency.time_in_scheduler", mark, text},
	{"gen_ai.usage.num_sequences", mark, text},
}

// Keys returns the attribute keys used to find requests.
func Keys() []string {
	keys := make([]string, len(attributes))
	for i, a := range attributes {
		keys[i] = a.key
	}
	return keys
}

// others lists values of gen_ai.operation.name other than model requests.
var others = []string{"create_agent", "invoke_agent", "invoke_workflow", "execute_tool", "retrieval"}

// dialectOf returns the number of a span's dialect, -1 for a span other than a request.
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

// Dialect returns the dialect of a request span, "" for other spans. The span needs the attributes in [Keys].
func Dialect(s *op.Span) string {
	if d := dialectOf(s.Name, s.Attrs); d >= 0 {
		return dialects[d].name
	}
	return ""
}

// number parses a value as a count or as nanoseconds.
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
