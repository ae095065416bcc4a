package workload

import (
	"encoding/binary"
	"io"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
)

// otlpWriter writes batches as OTLP, grouped by process and scope as the SDK's
// exporters do.
type otlpWriter struct {
	cfg     Config
	encode  func(ptrace.Traces) ([]byte, error)
	deliver func(encoded []byte) error
}

func newOTLPJSONWriter(w io.Writer, c Config) *otlpWriter {
	m := &ptrace.JSONMarshaler{}
	return &otlpWriter{cfg: c, encode: m.MarshalTraces, deliver: func(encoded []byte) error {
		_, err := w.Write(append(encoded, '\n'))
		return err
	}}
}

func newOTLPProtoWriter(w io.Writer, c Config) *otlpWriter {
	m := &ptrace.ProtoMarshaler{}
	return &otlpWriter{cfg: c, encode: m.MarshalTraces, deliver: func(encoded []byte) error {
		if _, err := w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(encoded)))); err != nil {
			return err
		}
		_, err := w.Write(encoded)
		return err
	}}
}

func (w *otlpWriter) close() error { return nil }

func (w *otlpWriter) write(spans []Span) error {
	if len(spans) == 0 {
		return nil
	}
	type group struct {
		process int
		isOp    bool
	}
	td := ptrace.NewTraces()
	resources := map[int]ptrace.ResourceSpans{}
	groups := map[group]ptrace.SpanSlice{}
	for i := range spans {
		s := &spans[i]
		g := group{s.Process, s.Op != nil}
		dst, ok := groups[g]
		if !ok {
			rs, ok := resources[s.Process]
			if !ok {
				rs = td.ResourceSpans().AppendEmpty()
				w.resource(rs.Resource(), s.Process)
				resources[s.Process] = rs
			}
			scope := rs.ScopeSpans().AppendEmpty()
			scope.Scope().SetName(LayerScope)
			if g.isOp {
				scope.Scope().SetName(optrace.ScopeName)
				scope.Scope().SetVersion(optrace.Version)
			}
			dst = scope.Spans()
			groups[g] = dst
		}
		w.span(dst.AppendEmpty(), s)
	}
	encoded, err := w.encode(td)
	if err != nil {
		return err
	}
	return w.deliver(encoded)
}

func (w *otlpWriter) resource(r pcommon.Resource, process int) {
	r.Attributes().PutStr(op.KeyServiceName, ServiceName)
	if w.cfg.processes() > 1 {
		r.Attributes().PutInt(op.KeyRank, int64(process))
		r.Attributes().PutInt(op.KeyWorldSize, int64(w.cfg.processes()))
	}
}

// span fills dst as the SDK's exporters would: an internal span, flagged as
// sampled and as one whose parent is local.
func (w *otlpWriter) span(dst ptrace.Span, s *Span) {
	const sampledAndParentLocal = 0x101
	dst.SetTraceID(pcommon.TraceID(s.TraceID))
	dst.SetSpanID(pcommon.SpanID(s.SpanID))
	dst.SetParentSpanID(pcommon.SpanID(s.Parent))
	dst.SetFlags(sampledAndParentLocal)
	dst.SetName(s.Name)
	dst.SetKind(ptrace.SpanKindInternal)
	dst.SetStartTimestamp(pcommon.Timestamp(s.Start))
	dst.SetEndTimestamp(pcommon.Timestamp(s.End))
	attrs := dst.Attributes()
	attrs.EnsureCapacity(len(s.Attributes()))
	for _, kv := range s.Attributes() {
		putValue(attrs.PutEmpty(string(kv.Key)), kv.Value)
	}
}
