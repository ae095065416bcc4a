package chrome

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/render/internal/timeline"
)

const writeSize = 256 << 10

// Write writes the timeline as one JSON document.
func (t *Timeline) Write(w io.Writer) error {
	out := &writer{w: bufio.NewWriterSize(w, writeSize), base: t.events.Base()}
	out.buf = append(out.buf, `{"displayTimeUnit":"ns","baseTimeNanoseconds":`...)
	out.buf = strconv.AppendInt(out.buf, out.base, 10)
	out.buf = append(out.buf, `,"traceEvents":[`...)
	var all []track
	all, out.threads = tracks(t.events.Arrange())
	for _, tr := range all {
		out.track(tr)
	}
	for _, pass := range t.events.Passes() {
		for _, s := range pass {
			out.slice(s)
		}
	}
	n := 0
	for f := range t.events.Flows() {
		n++
		out.arrow(n, f.Name, &t.events.Slices[f.From], &t.events.Slices[f.To])
	}
	out.w.Write(append(out.buf, "\n]}\n"...))
	if err := out.w.Flush(); err != nil {
		return fmt.Errorf("writing Chrome trace: %w", err)
	}
	return nil
}

type writer struct {
	w       *bufio.Writer // keeps the first error for Flush
	base    int64
	threads []track // by lane
	buf     []byte  // the event under way
	events  int
}

// event starts an event; end ends it.
func (w *writer) event(phase byte, on track) {
	if w.events > 0 {
		w.buf = append(w.buf, ',')
	}
	w.events++
	w.buf = append(append(w.buf, "\n{\"ph\":\""...), phase, '"')
	w.buf = strconv.AppendInt(append(w.buf, `,"pid":`...), int64(on.pid), 10)
	w.buf = strconv.AppendInt(append(w.buf, `,"tid":`...), int64(on.tid), 10)
}

func (w *writer) end() {
	w.w.Write(append(w.buf, '}'))
	w.buf = w.buf[:0]
}

func (w *writer) track(tr track) {
	name := "process_name"
	sort := "process_sort_index"
	index := tr.pid
	if tr.tid > 0 {
		name = "thread_name"
		sort = "thread_sort_index"
		index = tr.tid
	}
	w.event('M', tr)
	w.text(`,"name":`, name)
	w.text(`,"args":{"name":`, tr.title)
	w.buf = append(w.buf, '}')
	w.end()
	w.event('M', tr)
	w.text(`,"name":`, sort)
	w.buf = strconv.AppendInt(append(w.buf, `,"args":{"sort_index":`...), int64(index), 10)
	w.buf = append(w.buf, '}')
	w.end()
}

func (w *writer) slice(s *timeline.Slice) {
	w.event('X', w.threads[s.Lane])
	w.time(`,"ts":`, w.since(s, s.Start))
	w.time(`,"dur":`, s.Duration)
	w.text(`,"name":`, s.Label)
	w.text(`,"cat":`, s.Category)
	w.buf = append(append(w.buf, `,"args":`...), s.Args...)
	w.end()
}

// arrow writes an arrow between slices. It must begin within the first slice, even if the second starts later.
func (w *writer) arrow(id int, name string, from, to *timeline.Slice) {
	at := max(from.Start, min(to.Start, from.End()-1))
	for _, side := range []struct {
		phase byte
		s     *timeline.Slice
		at    int64
		bind  string
	}{{'s', from, at, ""}, {'f', to, to.Start, `,"bp":"e"`}} {
		w.event(side.phase, w.threads[side.s.Lane])
		w.buf = strconv.AppendInt(append(w.buf, `,"id":`...), int64(id), 10)
		w.time(`,"ts":`, w.since(side.s, side.at))
		w.text(`,"name":`, name)
		w.buf = append(w.buf, `,"cat":"flow"`...)
		w.buf = append(w.buf, side.bind...)
		w.end()
	}
}

func (w *writer) since(s *timeline.Slice, at int64) int64 {
	if s.Bare {
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
	w.buf = scalar.AppendString(append(w.buf, key...), s)
}
