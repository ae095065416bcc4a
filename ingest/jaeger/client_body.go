package jaeger

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"unsafe"

	"github.com/klauspost/compress/gzip"

	"github.com/optrace/optrace/op"
)

var (
	errCutOff  = errors.New("the answer was cut off")
	errDamaged = errors.New("the answer is damaged")
)

// readBody reads an answer as a whole, if it has at most limit bytes, compressed and
// decompressed.
func readBody(resp *http.Response, limit int64) ([]byte, error) {
	if resp.ContentLength > limit {
		return nil, errTooLarge
	}
	compressed := &io.LimitedReader{R: resp.Body, N: limit + 1}
	src := io.Reader(compressed)
	switch encoding := resp.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(compressed)
		if err != nil {
			return nil, bodyError(err)
		}
		src = z
	default:
		return nil, fmt.Errorf("%w: compressed as %q, which was not asked for", errDamaged, encoding)
	}
	plain := &io.LimitedReader{R: src, N: limit + 1}
	body, err := io.ReadAll(plain)
	switch {
	case plain.N == 0 || compressed.N == 0:
		return nil, errTooLarge
	case err != nil:
		return nil, bodyError(err)
	}
	return body, nil
}

// bodyError returns the error for an answer that could not be read to its end.
func bodyError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errCutOff
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return err
}

// answer is an answer of the server, by trace in the order of first appearance.
type answer struct {
	traces   []*Trace
	problems []*op.SyntaxError // records that could not be read, the first ones

	byID    map[op.TraceID]*Trace
	untold  int64 // problems beyond the first
	held    int64 // memory of the records
	maxHeld int64
}

// maxProblems is how many problems of an answer are told one by one.
const maxProblems = 100

// decode reads an answer and collects the records of each trace, which version
// 3 does not promise to keep together.
func (c *Client) decode(a api, url string, body []byte) (*answer, error) {
	ans := &answer{byID: make(map[op.TraceID]*Trace), maxHeld: c.opts.MaxMemory / 2}
	for rec, err := range a.records(body, url, c.opts.Mapping, c.opts.MaxMemory/2) {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax) && syntax.Truncated:
			return nil, fmt.Errorf("%s: %w", url, errCutOff)
		case syntax != nil:
			ans.problem(syntax)
		case errors.Is(err, errTraceTooLarge):
			return nil, fmt.Errorf("%s: %w: %w", url, errTooLarge, err)
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", url, err)
		case rec.Entry != nil:
			if t := ans.trace(rec.Entry.TraceID, url); t != nil {
				t.Entries = append(t.Entries, rec.Entry.Clone())
				ans.held += entryBytes(rec.Entry)
			}
		case rec.Span != nil:
			if t := ans.trace(rec.Span.TraceID, url); t != nil {
				t.Spans = append(t.Spans, *rec.Span.Clone())
				ans.held += spanBytes(rec.Span)
			}
		}
		if ans.held > ans.maxHeld {
			return nil, fmt.Errorf("%s: %w: its records take more than %d MiB of memory", url, errTooLarge, ans.maxHeld>>20)
		}
	}
	for _, p := range c.pruned(a, url, body) {
		if t := ans.trace(p.TraceID, url); t != nil {
			t.Pruned = append(t.Pruned, p)
		}
	}
	if ans.untold > 0 {
		ans.problems = append(ans.problems, &op.SyntaxError{File: url, Offset: -1, Class: op.ErrorOther,
			Msg: fmt.Sprintf("%d further problems of this answer are not told", ans.untold)})
	}
	return ans, nil
}

// trace returns the trace with an id, nil for none: what belongs to no trace cannot be
// shown in any.
func (a *answer) trace(id op.TraceID, url string) *Trace {
	if id.IsZero() {
		a.problem(&op.SyntaxError{File: url, Offset: -1, Class: op.ErrorRecord, Msg: "span without the id of its trace"})
		return nil
	}
	t := a.byID[id]
	if t == nil {
		t = &Trace{ID: id}
		a.byID[id] = t
		a.traces = append(a.traces, t)
		a.held += int64(unsafe.Sizeof(*t)) + mapBytes
	}
	return t
}

func (a *answer) problem(p *op.SyntaxError) {
	if len(a.problems) < maxProblems {
		a.problems = append(a.problems, p)
	} else {
		a.untold++
	}
}

// What a list has in reserve and an element of a map takes, about, in bytes.
const (
	reserve  = 2
	mapBytes = 64
)

// entryBytes returns about how much memory a copy of an entry takes, but for its texts,
// which take no more than the answer.
func entryBytes(e *op.Entry) int64 {
	n := unsafe.Sizeof(*e) + reserve*unsafe.Sizeof(e)
	for _, s := range e.InputShapes {
		n += unsafe.Sizeof(s) + uintptr(len(s))*unsafe.Sizeof(int64(0))
	}
	return int64(n + uintptr(len(e.Links))*unsafe.Sizeof(op.Link{}) + uintptr(len(e.Attrs))*unsafe.Sizeof(op.Attr{}))
}

// spanBytes is entryBytes for another span.
func spanBytes(s *op.Span) int64 {
	n := reserve*unsafe.Sizeof(*s) + uintptr(len(s.Links))*unsafe.Sizeof(op.Link{}) + uintptr(len(s.Attrs))*unsafe.Sizeof(op.Attr{})
	return int64(n)
}
