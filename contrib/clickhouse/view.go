package clickhouse

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opfields"
	"github.com/optrace/optrace/op"
)

// ViewStatement returns the statement that creates a view with the columns of the table over the spans of
// the Collector's ClickHouse exporter; its table is otel_traces by default. Like the exporter it needs a
// version with maps and times in nanoseconds.
//
// Spans with the attribute tensor.op.name are operations. The exporter stores attributes as text: integers
// in decimal, lists as JSON.
func ViewStatement(view, traces string) string {
	expressions := viewColumns()
	var list []string
	for _, c := range columns() {
		expr, ok := expressions[c.name]
		if !ok {
			expr = emptyOf(c.typ)
		}
		list = append(list, fmt.Sprintf("\n  CAST(%s AS %s) AS %s", expr, c.typ, c.name))
	}
	return fmt.Sprintf("CREATE VIEW IF NOT EXISTS %s AS SELECT%s\nFROM %s", quoteName(view), strings.Join(list, ","),
		quoteName(traces))
}

// emptyOf returns the empty value of a type.
func emptyOf(typ string) string {
	switch {
	case strings.HasPrefix(typ, "Nullable"):
		return "NULL"
	case strings.HasPrefix(typ, "Array"):
		return "[]"
	case typ == "String":
		return "''"
	}
	return "0"
}

// spanAttr is the text of a span's attribute; "" without it.
func spanAttr(key string) string { return "SpanAttributes[" + quote(key) + "]" }

// integer is the integer in a span's attribute; null without it.
func integer(key string) string { return "toInt64OrNull(" + spanAttr(key) + ")" }

// viewColumns returns the columns of the view as expressions on a span. They refer to one another.
func viewColumns() map[string]string {
	collective := []string{ // the keys of opfields.Collective
		attrkey.Collective, attrkey.Group, attrkey.GroupSize, attrkey.Sequence, attrkey.PeerRank, attrkey.InElements,
		attrkey.OutElements,
	}
	e := map[string]string{
		"row":       "greatest(toUnixTimestamp64Nano(Timestamp), 0)",
		"record":    fmt.Sprintf("if(mapContains(SpanAttributes, %s), 'entry', 'span')", quote(attrkey.Name)),
		"step":      integer(attrkey.Step),
		"operation": fmt.Sprintf("if(%[1]s = '', SpanName, %[1]s)", spanAttr(attrkey.Name)),
		"device_id": fmt.Sprintf("nullIf(if(%[1]s = '', %[2]s, %[1]s), '')", spanAttr(attrkey.Device),
			spanAttr(attrkey.HardwareID)),
		"duration_ns":    "if(Duration > 9223372036854775807, 0, Duration)",
		"start_unix_ns":  "nullIf(toUnixTimestamp64Nano(Timestamp), 0)",
		"launch_unix_ns": integer(attrkey.Launch),
		"stream":         integer(attrkey.Stream),
		"rank": fmt.Sprintf("coalesce(%s, toInt64OrNull(ResourceAttributes[%s]))", integer(attrkey.Rank),
			quote(attrkey.Rank)),
		"flops":          integer(attrkey.FLOPs),
		"trace_id":       "TraceId",
		"span_id":        "SpanId",
		"parent_span_id": "ParentSpanId",
		"root":           spanAttr(attrkey.Root),
		"root_span_id":   spanAttr(attrkey.RootSpan),
		"service":        "ServiceName",
		"host":           "ResourceAttributes[" + quote(attrkey.HostName) + "]",
		"scope":          "ScopeName",
		"path":           spanAttr(attrkey.Path),
		"side":           fmt.Sprintf("if(%s = 'host', 'host', '')", spanAttr(attrkey.Side)),
		"failed":         "StatusCode = 'Error'",
		"error":          "if(StatusCode = 'Error', StatusMessage, '')",
		"attr_k":         "arrayConcat(mapKeys(SpanAttributes), mapKeys(ResourceAttributes))",
		"attr_v":         "arrayConcat(mapValues(SpanAttributes), mapValues(ResourceAttributes))",
		"name":           "SpanName",
		"link_trace_ids": "Links.TraceId",
		"link_span_ids":  "Links.SpanId",
		"link_weights": fmt.Sprintf("arrayMap(m -> toInt64OrZero(m[%s]), Links.Attributes)",
			quote(attrkey.LinkWeight)),
		"link_weighted": fmt.Sprintf("arrayMap(m -> mapContains(m, %s), Links.Attributes)",
			quote(attrkey.LinkWeight)),
		"is_collective":    "arrayExists(k -> mapContains(SpanAttributes, k), " + texts(collective) + ")",
		"extra":            viewExtra,
		"adjusted_count":   viewWeight,
		"warn":             viewWarnings(),
		"dtype":            spanAttr(attrkey.DType),
		"input_dtypes":     "JSONExtract(" + spanAttr(attrkey.InputDTypes) + ", 'Array(String)')",
		"has_output_shape": "startsWith(" + spanAttr(attrkey.OutputShape) + ", '[')",
		"output_shape":     "JSONExtract(" + spanAttr(attrkey.OutputShape) + ", 'Array(Int64)')",
		"has_input_shapes": "startsWith(" + spanAttr(attrkey.InputShapes) + ", '[')",
		"input_shapes": "arrayMap(s -> " + viewShape + ", JSONExtractArrayRaw(" + spanAttr(attrkey.InputShapes) +
			"))",
		"unknown_inputs":  "arrayFilter((i, s) -> s IN ('null', '\"\"', '\"?\"'), " + viewPlaces + ")",
		"output_elements": viewElements(),
		"memory_bytes":    viewMemory(),
		"shapes":          viewShapes,
		"kind": viewKind("'collective'", "'collective'", "'memory'", "'compute'", spanAttr(attrkey.Kind),
			"'collective'"),
		"kind_rule": viewKind("'library'", "'name'", "'name'", "'default'", viewRule, "'attribute'"),
	}
	for i, key := range collective {
		c := opfields.Collective[i]
		expr := integer
		if _, isText := c.At.(func(*op.Collective) *string); isText {
			expr = spanAttr
		}
		e["collective_"+c.Name] = expr(key)
	}
	return e
}

func texts(list []string) string { return "[" + quoted(list) + "]" }

// viewExtra has the attention weights of links, in the form of the column extra.
var viewExtra = fmt.Sprintf("if(arrayExists(m -> mapContains(m, %[1]s), Links.Attributes), "+
	`concat('{"links":[', arrayStringConcat(arrayMap((t, s, m) -> concat('{"trace_id":', toJSONString(t), ',"span_id":', toJSONString(s), `+
	`if(mapContains(m, %[1]s), concat(',"weight_attention":', toString(toInt64OrZero(m[%[1]s]))), ''), '}'), `+
	"Links.TraceId, Links.SpanId, Links.Attributes), ','), ']}'), '')", quote(attrkey.LinkAttention))

// viewShape is the shape in the text s: a list of dimensions, or a text such as 64x784.
const viewShape = `if(startsWith(s, '['), JSONExtract(s, 'Array(Int64)'), arrayMap(d -> toInt64OrZero(d), arrayFilter(d -> d != '', ` +
	`splitByRegexp('[x,;]', replaceRegexpAll(JSONExtract(s, 'String'), '[^-0-9x,;]', '')))))`

// viewPlaces are the indexes of the inputs, from 0, and their texts.
var viewPlaces = "arrayMap(i -> toInt64(i) - 1, arrayEnumerate(JSONExtractArrayRaw(" + spanAttr(attrkey.InputShapes) +
	"))), " +
	"JSONExtractArrayRaw(" + spanAttr(attrkey.InputShapes) + ")"

// viewShapes is the text of the shapes and the element type.
const viewShapes = `if(has_input_shapes + has_output_shape = 0 AND dtype = '', '', concat(` +
	`if(has_input_shapes = 0, '?', arrayStringConcat(arrayMap((s, i) -> if(has(unknown_inputs, toInt64(i) - 1), '?', ` +
	`if(empty(s), 'scalar', arrayStringConcat(arrayMap(d -> if(d = -1, '?', toString(d)), s), 'x'))), ` +
	`input_shapes, arrayEnumerate(input_shapes)), ',')), '->', if(has_output_shape = 0, '?', if(empty(output_shape), 'scalar', ` +
	`arrayStringConcat(arrayMap(d -> if(d = -1, '?', toString(d)), output_shape), 'x'))), if(dtype = '', '', concat(':', dtype))))`

// viewElements is the number of elements of the output: as stated, or the product of its dimensions.
func viewElements() string {
	return fmt.Sprintf("multiIf(mapContains(SpanAttributes, %s), %s, has_output_shape = 0 OR has(output_shape, -1) OR "+
		"arrayProduct(output_shape) > 9e18, NULL, arrayFold((n, d) -> n * d, output_shape, toInt64(1)))",
		quote(attrkey.OutputElements), integer(attrkey.OutputElements))
}

// viewMemory is the size of the output: as stated, or the elements times their size.
func viewMemory() string {
	var names, sizes []string
	for _, t := range []op.DType{
		op.F64, op.F32, op.BF16, op.F16, op.F8E4M3, op.F8E5M2, op.I64, op.I32, op.I16, op.I8, op.U64, op.U32, op.U16,
		op.U8,
		op.Bool, op.C64, op.C128,
	} {
		names = append(names, string(t))
		sizes = append(sizes, strconv.FormatInt(t.Size(), 10))
	}
	size := fmt.Sprintf("toInt64(transform(dtype, %s, [%s], %d))", texts(names), strings.Join(sizes, ", "),
		op.DefaultElementSize)
	return fmt.Sprintf("if(mapContains(SpanAttributes, %s), %s, if(toFloat64(output_elements) * %s > 9e18, NULL, output_elements * %s))",
		quote(attrkey.Memory), integer(attrkey.Memory), size, size)
}

// viewRule is the rule of an explicit kind.
var viewRule = fmt.Sprintf("if(%[1]s = '', 'attribute', %[1]s)", spanAttr(attrkey.KindRule))

// viewKind selects by the explicit kind of a span, or by its name like op.InferKind.
func viewKind(library, word, memory, compute, stated, collective string) string {
	const (
		lower = `lower(operation)`
		split = `replaceRegexpAll(replaceRegexpAll(operation, '([a-z0-9])([A-Z])', '\\1_\\2'), '([A-Z])([A-Z][a-z])', '\\1_\\2')`
		words = `concat('_', replaceRegexpAll(lower(` + split + `), '[^a-z0-9]+', '_'), '_')`
	)
	prefix := func(list ...string) string {
		return "arrayExists(p -> startsWith(" + lower + ", p), " + texts(list) + ")"
	}
	communication := []string{
		"_all_reduce_", "_allreduce_", "_all_gather_", "_allgather_", "_allgatherv_", "_reduce_scatter_", "_reducescatter_",
		"_all_to_all_", "_alltoall_", "_alltoallv_", "_all2all_",
		"_send_", "_recv_", "_isend_", "_irecv_", "_sendrecv_", "_comm_", "_comms_",
	}
	const broadcast = `'_broadcast_(coalesced_|oop_|object_list_|async_|kernel_)?_*$'`
	return fmt.Sprintf("multiIf(%s IN ('compute', 'collective', 'memory', 'io', 'control'), %s, is_collective, %s, "+
		"%s, %s, multiSearchAny(%s, %s) OR match(%s, %s), %s, %s, %s, %s)", spanAttr(attrkey.Kind), stated, collective,
		prefix("nccl", "rccl", "msccl", "hccl", "oneccl"), library, words, texts(communication), words, broadcast, word,
		prefix("memcpy", "memset"), memory, compute)
}

// viewWarnings are the warnings of a span, with one for an end before the start.
func viewWarnings() string {
	return fmt.Sprintf("arrayFilter(w -> w != '', arrayDistinct(arrayPushBack(splitByChar(',', %s), "+
		"if(Duration > 9223372036854775807, 'neg_duration', ''))))", spanAttr(attrkey.Warnings))
}

// viewWeight is the number of spans for each sampled one, from the threshold in the trace state.
const viewWeight = `if(extract(TraceState, '(?:^|,) *ot=(?:[^,]*;)?th:([0-9a-f]{1,14})(?:[;,]|$)') = '', 0, ` +
	`72057594037927936 / (72057594037927936 - reinterpretAsUInt64(reverse(unhex(concat('00', rightPad(` +
	`extract(TraceState, '(?:^|,) *ot=(?:[^,]*;)?th:([0-9a-f]{1,14})(?:[;,]|$)'), 14, '0')))))))`
