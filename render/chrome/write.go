package chrome

import (
	"fmt"
	"io"
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// writeSize is the number of bytes that are collected before they are written.
const writeSize = 256 << 10

// Write writes the timeline as one JSON document.
func (t *Timeline) Write(w io.Writer) error {
	out := &writer{w: w, base: t.base()}
	out.buf = append(out.buf, `{"displayTimeUnit":"ns","baseTimeNanoseconds":`...)
	out.buf = strconv.AppendInt(out.buf, out.base, 10)
	out.buf = append(out.buf, `,"traceEvents":[`...)
	for _, tr := range t.arrange() {
		out.track(tr)
	}
	for i := range t.slices {
		out.slice(&t.slices[i])
	}
	t.arrows(out)
	out.buf = append(out.buf, "\n]}\n"...)
	out.flush()
	return out.err
}

// spanKey identifies a span.
type spanKey struct {
	trace op.TraceID
	span  op.SpanID
}

// arrows writes an arrow to each operation from the span that caused it, unless
// that span is an operation.
func (t *Timeline) arrows(out *writer) {
	spans := make(map[spanKey]*slice)
	for i := range t.slices {
		if s := &t.slices[i]; s.isService {
			spans[spanKey{s.trace, s.span}] = s
		}
	}
	n := 0
	for i := range t.slices {
		s := &t.slices[i]
		if s.isService || s.bare || s.parent.IsZero() {
			continue
		}
		if from := spans[spanKey{s.trace, s.parent}]; from != nil {
			n++
			out.arrow(n, from, s)
		}
	}
}

// writer writes events. The first error is kept, and nothing is written after it.
type writer struct {
	w      io.Writer
	base   int64
	buf    []byte
	events int
	err    error
}

// event starts an event; end ends it.
func (w *writer) event(phase byte, pid, tid int) {
	if w.events > 0 {
		w.buf = append(w.buf, ',')
	}
	w.events++
	w.buf = append(append(w.buf, "\n{\"ph\":\""...), phase, '"')
	w.buf = strconv.AppendInt(append(w.buf, `,"pid":`...), int64(pid), 10)
	w.buf = strconv.AppendInt(append(w.buf, `,"tid":`...), int64(tid), 10)
}

func (w *writer) end() {
	w.buf = append(w.buf, '}')
	if len(w.buf) >= writeSize {
		w.flush()
	}
}

func (w *writer) flush() {
	if w.err == nil {
		n, err := w.w.Write(w.buf)
		if err == nil && n < len(w.buf) {
			err = io.ErrShortWrite
		}
		if err != nil {
			w.err = fmt.Errorf("writing Chrome trace: %w", err)
		}
	}
	w.buf = w.buf[:0]
}

// track names a process or a thread and sets its position.
func (w *writer) track(tr track) {
	name, sort, index := "process_name", "process_sort_index", tr.pid
	if tr.tid > 0 {
		name, sort, index = "thread_name", "thread_sort_index", tr.tid
	}
	w.event('M', tr.pid, tr.tid)
	w.text(`,"name":`, name)
	w.text(`,"args":{"name":`, tr.title)
	w.buf = append(w.buf, '}')
	w.end()
	w.event('M', tr.pid, tr.tid)
	w.text(`,"name":`, sort)
	w.buf = strconv.AppendInt(append(w.buf, `,"args":{"sort_index":`...), int64(index), 10)
	w.buf = append(w.buf, '}')
	w.end()
}

func (w *writer) slice(s *slice) {
	w.event('X', s.pid, s.tid)
	w.time(`,"ts":`, w.since(s, s.start))
	w.time(`,"dur":`, s.duration)
	w.text(`,"name":`, s.label)
	w.text(`,"cat":`, s.category)
	w.buf = append(append(append(w.buf, `,"args":{`...), s.args...), '}')
	w.end()
}

// arrow leads from a span to an operation. It must begin within the span, even if
// the operation begins later.
func (w *writer) arrow(id int, from, to *slice) {
	at := max(from.start, min(to.start, from.end()-1))
	for _, side := range []struct {
		phase byte
		s     *slice
		at    int64
		bind  string
	}{{'s', from, at, ""}, {'f', to, to.start, `,"bp":"e"`}} {
		w.event(side.phase, side.s.pid, side.s.tid)
		w.buf = strconv.AppendInt(append(w.buf, `,"id":`...), int64(id), 10)
		w.time(`,"ts":`, w.since(side.s, side.at))
		w.buf = append(w.buf, `,"name":"causes","cat":"flow"`...)
		w.buf = append(w.buf, side.bind...)
		w.end()
	}
}

// since returns a time relative to the base.
func (w *writer) since(s *slice, at int64) int64 {
	if s.bare {
		return at
	}
	return at - w.base
}

// time appends nanoseconds as microseconds with three decimal places.
func (w *writer) time(key string, ns int64) {
	w.buf = strconv.AppendInt(append(w.buf, key...), ns/1000, 10)
	rest := ns % 1000
	w.buf = append(w.buf, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

func (w *writer) text(key, s string) {
	w.buf = jsontext.AppendString(append(w.buf, key...), s)
}
