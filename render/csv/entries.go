package csv

import (
	"io"
	"strings"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// entryColumns are the fields of an entry, named as in entries JSON Lines.
var entryColumns = []string{
	"step", "operation", "kind", "side", "path", "device_id", "stream", "rank", "input_shapes", "input_dtypes", "output_shape",
	"dtype", "start_unix_ns", "duration_ns", "duration_us", "output_elements", "memory_bytes", "flops", "failed", "error",
	"trace_id", "span_id", "parent_span_id", "root", "root_span_id", "service", "scope", "collective", "group", "group_size",
	"sequence", "peer_rank", "in_elements", "out_elements", "adjusted_count", "dropped_attributes", "warn",
}

// EntryWriter writes a row for each entry. Shapes are written as in reports,
// "64x784", separated by spaces. Call Flush at the end. It is not safe for
// concurrent use.
type EntryWriter struct {
	w *writer
}

// NewEntryWriter returns an EntryWriter to w and writes the header row.
func NewEntryWriter(w io.Writer, opts Options) (*EntryWriter, error) {
	out, err := newWriter(w, opts, entryColumns)
	if err != nil {
		return nil, err
	}
	return &EntryWriter{w: out}, nil
}

// Write writes e.
func (w *EntryWriter) Write(e *op.Entry) error {
	r := w.w
	r.known(e.Step)
	r.text(e.Operation)
	r.text(e.Kind.String())
	r.text(e.Side.String())
	r.text(e.Path)
	r.text(e.DeviceID)
	r.known(e.Stream)
	r.known(e.Rank)
	r.text(joinShapes(e.InputShapes))
	r.text(joinDTypes(e.InputDTypes))
	r.shape(e.OutputShape)
	r.text(string(e.DType))
	r.known(e.Start)
	r.int(e.Duration)
	r.row = append(r.row, string(jsontext.AppendMicros(nil, e.Duration)))
	r.known(e.OutputElements)
	r.known(e.MemoryBytes)
	r.known(e.FLOPs)
	r.failure(e)
	r.ids(e)
	r.text(e.Service)
	r.text(e.Scope)
	r.collective(e.Collective)
	if e.AdjustedCount != 0 {
		r.float(e.AdjustedCount)
	} else {
		r.empty()
	}
	r.int(e.DroppedAttributes)
	r.text(joinWarnings(e.Warn))
	return r.end()
}

// Flush writes the buffered rows.
func (w *EntryWriter) Flush() error { return w.w.flush() }

func (w *writer) failure(e *op.Entry) {
	failed := "false"
	if e.Failed {
		failed = "true"
	}
	w.row = append(w.row, failed)
	w.text(e.Error)
}

func (w *writer) ids(e *op.Entry) {
	if e.TraceID.IsZero() {
		w.empty()
	} else {
		w.text(e.TraceID.String())
	}
	w.spanID(e.SpanID)
	w.spanID(e.ParentSpanID)
	w.text(e.Root)
	w.spanID(e.RootSpanID)
}

func (w *writer) spanID(id op.SpanID) {
	if id.IsZero() {
		w.empty()
	} else {
		w.text(id.String())
	}
}

func (w *writer) collective(c *op.Collective) {
	if c == nil {
		c = &op.Collective{}
	}
	w.text(c.Name)
	w.text(c.Group)
	w.known(c.GroupSize)
	w.known(c.Sequence)
	w.known(c.PeerRank)
	w.known(c.InElements)
	w.known(c.OutElements)
}

// shape adds a shape, or an empty field if it is unknown.
func (w *writer) shape(s op.Shape) {
	if s == nil {
		w.empty()
	} else {
		w.row = append(w.row, s.String())
	}
}

func joinShapes(shapes []op.Shape) string {
	parts := make([]string, len(shapes))
	for i, s := range shapes {
		parts[i] = s.String()
	}
	return strings.Join(parts, " ")
}

func joinDTypes(dtypes []op.DType) string {
	parts := make([]string, len(dtypes))
	for i, d := range dtypes {
		parts[i] = string(d)
	}
	return strings.Join(parts, " ")
}

func joinWarnings(all op.Warning) string {
	var parts []string
	for w := range all.All() {
		parts = append(parts, w.String())
	}
	return strings.Join(parts, " ")
}
