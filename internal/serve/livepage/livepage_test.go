package livepage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/render/html"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func operation(i int) *op.Entry {
	return &op.Entry{
		Operation: fmt.Sprint("op", i%5), Kind: op.KindCompute, DeviceID: fmt.Sprint("cuda:", i%2),
		Start: op.Known(int64(1000 * i)), Duration: int64(100 + i%7), OutputShape: op.Shape{2, 3},
		Warn:    op.Warning(i % 2),
		TraceID: op.TraceID{1, byte(i >> 8)}, SpanID: op.SpanID{2, byte(i >> 8), byte(i)}, ParentSpanID: op.SpanID{1},
	}
}

func request(i int) *op.Span {
	return &op.Span{Name: "POST /", TraceID: op.TraceID{1, byte(i >> 8)}, SpanID: op.SpanID{1}, Start: op.Known(0),
		Duration: 1e6}
}

// mixed yields records of all kinds, and errors.
func mixed(n int) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		host := ""
		service := "" // both of the resource, as readers do
		for i := range n {
			var ok bool
			switch {
			case i%256 == 1:
				s := request(i)
				s.Service = service
				ok = yield(op.Record{Span: s}, nil)
			case i%50 == 3:
				host = fmt.Sprint("node-", i%3)
				service = "trainer"
				r := &op.Resource{Service: service}
				opmodel.SetResourceAttr(r, new(opmodel.AttrIndex), op.Attr{Key: attrkey.HostName, Value: host})
				ok = yield(op.Record{Resource: r}, nil)
			case i%70 == 4:
				ok = yield(op.Record{}, &op.SyntaxError{File: "f", Line: int64(i), Msg: "bad"})
			case i%70 == 5:
				ok = yield(op.Record{Gap: &op.Gap{Dropped: 3, Reason: "queue_full"}}, nil)
			case i%70 == 6:
				ok = yield(op.Record{Batch: &op.Batch{Writer: "w", Sequence: int64(i)}}, nil)
			case i%70 == 7:
				ok = yield(op.Record{Skipped: op.Skipped{Reason: op.SkipFlow, N: 2}}, nil)
			default:
				e := operation(i)
				e.Host = host
				e.Service = service
				ok = yield(op.Record{Entry: e}, nil)
			}
			if !ok {
				return
			}
		}
	}
}

func fill(in *Input, records iter.Seq2[op.Record, error]) {
	w := in.Writer()
	for rec, err := range records {
		syntax, _ := errors.AsType[*op.SyntaxError](err)
		w.Add(rec, syntax)
	}
	w.Flush()
}

func asJSON(t *testing.T, r *analyze.Report) string {
	t.Helper()
	text := check.Must(json.MarshalIndent(r, "", " "))(t)
	return string(text)
}

// The report on a window equals the report on its records.
func TestReportOfWindow(t *testing.T) {
	want := check.Must(analyze.Run(t.Context(), analyze.Records(mixed(5000)), analyze.Options{}))(t)
	w := NewWindow(Limits{})
	fill(w.Input(""), mixed(5000))
	got := check.Must(analyze.Run(t.Context(), w.view(), analyze.Options{}))(t)
	got.Input.Files, want.Input.Files = 0, 0
	got.Input.Problems, want.Input.Problems = nil, nil // the same ones in another order
	check.Equal(t, "window against records", asJSON(t, want), asJSON(t, got))
	if text := body(t, get(t, &Page{Window: w}, "/trace.json")); strings.Count(text, `"op1"`) < 500 {
		t.Errorf("the Chrome trace has %d of an operation", strings.Count(text, `"op1"`))
	}
}

func TestWindowLimits(t *testing.T) {
	now := time.Unix(0, 0)
	w := NewWindow(Limits{Records: 1000, Age: time.Minute, Bytes: 1 << 20})
	w.now = func() time.Time { return now }
	out := w.Input("x").Writer()
	held := func() (operations, bytes int64) {
		for _, b := range w.view().blocks {
			operations += int64(b.operations)
			bytes += b.bytes()
		}
		return operations, bytes
	}
	added := int64(0)
	verify := func(what string, most int64) {
		t.Helper()
		operations, bytes := held()
		if operations > most || bytes > 1<<20 {
			t.Errorf("%s: %d operations in %d bytes", what, operations, bytes)
		}
		if lost := w.view().lost.Operations; lost+operations != added {
			t.Errorf("%s: %d lost and %d held of %d", what, lost, operations, added)
		}
	}
	add := func(e *op.Entry) {
		out.Add(op.Record{Entry: e}, nil)
		added++
	}
	for i := range 5000 {
		add(operation(i))
		if i%777 == 0 {
			out.Flush()
			verify("records", 1000)
		}
	}
	out.Flush()
	verify("records", 1000)
	if operations, _ := held(); operations < 500 {
		t.Errorf("only %d operations are held", operations)
	}
	now = now.Add(30 * time.Second)
	for i := range 10 {
		add(operation(i))
	}
	out.Flush()
	now = now.Add(45 * time.Second)
	verify("age", 10)
	if operations, _ := held(); operations != 10 {
		t.Errorf("%d operations are left", operations)
	}
	// Large operations count by their bytes.
	for i := range 50 {
		e := operation(i)
		e.OutputShape = make(op.Shape, 50_000)
		add(e)
	}
	out.Flush()
	verify("bytes", 20)
}

// A long text becomes its beginning and a number, distinct and stable.
func TestLongTexts(t *testing.T) {
	w := NewWindow(Limits{})
	out := w.Input("").Writer()
	for i := range 6 {
		e := operation(i)
		e.Operation, e.Path = strings.Repeat("é", 1000+i%2), strings.Repeat("x", longText)
		out.Add(op.Record{Entry: e}, nil)
	}
	out.Add(op.Record{Span: &op.Span{Name: strings.Repeat("y", 1<<20), SpanID: op.SpanID{9}, TraceID: op.TraceID{9}}},
		nil)
	out.Flush()
	if w.bytes > 6*1200 {
		t.Errorf("%d bytes", w.bytes)
	}
	r := check.Must(analyze.Run(t.Context(), w.view(), analyze.Options{By: []key.Key{key.Path}}))(t)
	if len(r.Operations) != 2 || r.Operations[0].Count != 3 ||
		!strings.HasPrefix(r.Operations[0].Operation, strings.Repeat("é", longText/2)+"…") {
		t.Errorf("operations %+v", r.Operations)
	}
	if len(r.Groups) != 1 || r.Groups[0].Key.String() != strings.Repeat("x", longText) {
		t.Errorf("groups %+v", r.Groups)
	}
}

// A table of the page has a bounded number of rows; further groups share one.
func TestFurtherGroups(t *testing.T) {
	w := NewWindow(Limits{})
	out := w.Input("").Writer()
	const n = 2 * maxGroups
	for i := range n {
		e := operation(i)
		e.Operation, e.DeviceID = fmt.Sprint("op", i), fmt.Sprint("cuda:", i)
		out.Add(op.Record{Entry: e}, nil)
	}
	out.Flush()
	r := check.Must(w.view().report(t.Context()))(t)
	operations, devices, path := int64(0), int64(0), int64(0)
	for i := range r.Operations {
		operations += r.Operations[i].Count
	}
	for i := range r.Devices {
		devices += r.Devices[i].Count
	}
	for i := range r.CriticalPath {
		path += r.CriticalPath[i].TimeNS
	}
	if len(r.Operations) != maxGroups+1 || len(r.Devices) != maxGroups+1 || operations != n || devices != n ||
		r.Input.OverflowedGroups == 0 {
		t.Errorf("%d operations in %d rows and on %d devices in %d rows, %d groups beyond", operations,
			len(r.Operations), devices, len(r.Devices), r.Input.OverflowedGroups)
	}
	if len(r.CriticalPath) > maxGroups+1 || path != r.PathTotals.DurationNS {
		t.Errorf("%d rows of the critical path with %d ns of %d", len(r.CriticalPath), path, r.PathTotals.DurationNS)
	}
}

func TestRecordTooLarge(t *testing.T) {
	w := NewWindow(Limits{})
	out := w.Input("").Writer()
	e := operation(0)
	e.OutputShape = make(op.Shape, entries.MaxLineBytes/2)
	out.Add(op.Record{Entry: e}, nil)
	out.Flush()
	r := check.Must(analyze.Run(t.Context(), w.view(), analyze.Options{}))(t)
	if r.Input.Entries != 0 || r.Input.Malformed != 1 {
		t.Errorf("envelope %+v", r.Input)
	}
}

func get(t *testing.T, h http.Handler, path string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	var b bytes.Buffer
	check.Must(b.ReadFrom(r.Body))(t)
	return b.String()
}

func TestPage(t *testing.T) {
	w := NewWindow(Limits{Records: 100})
	p := &Page{Window: w, Title: "a <title>", Since: func() *analyze.Report { return new(analyze.Report) }}
	in := w.Input("entries-jsonl")
	fill(in, mixed(50))

	page := get(t, p, "/debug/optrace/")
	text := body(t, page)
	policy := page.Header.Get("Content-Security-Policy")
	for _, want := range []string{"a &lt;title&gt;", "window of 100", `data-build="sha256-`, "connect-src &#39;self&#39;"} {
		if !strings.Contains(text, want) && !strings.Contains(text, strings.ReplaceAll(want, "&#39;", "'")) {
			t.Errorf("the page has no %s", want)
		}
	}
	if page.StatusCode != http.StatusOK || !strings.Contains(policy, "default-src 'none'") ||
		!strings.Contains(policy, "connect-src 'self'") {
		t.Errorf("status %s, policy %q", page.Status, policy)
	}

	first := get(t, p, "/data")
	var data struct {
		Title string
		Notes []html.Note
		View  struct{ Rows int }
	}
	check.OK(t, json.Unmarshal([]byte(body(t, first)), &data))
	if data.Title != "trainer · a <title>" || data.View.Rows == 0 {
		t.Errorf("data %+v", data)
	}
	tag := first.Header.Get("ETag")
	if again := get(t, p, "/data", "If-None-Match", tag); again.StatusCode != http.StatusNotModified {
		t.Errorf("unchanged: %s", again.Status)
	}
	fill(in, mixed(200))
	served := in.Writer()
	served.Add(op.Record{Entry: &op.Entry{Operation: "op", Service: "trainer", Duration: 1}}, nil)
	served.Flush()
	p.built.at = time.Time{} // long ago
	changed := get(t, p, "/data", "If-None-Match", tag)
	text = body(t, changed)
	if changed.StatusCode != http.StatusOK || changed.Header.Get("ETag") == tag ||
		!strings.Contains(text, "fell out of the window") || !strings.Contains(text, `"trainer · a `) {
		t.Errorf("changed: %s\n%.300s", changed.Status, text)
	}

	if text := body(t, get(t, p, "/?format=collapsed")); !strings.Contains(text, "cuda:0;op") {
		t.Errorf("collapsed stacks:\n%.300s", text)
	}
	for path, want := range map[string]string{
		"/?format=text": "  1. ", "/?format=text&section=all": "\nOPERATIONS\n", "/?format=text&section=idle": "\nIDLE",
	} {
		if text := body(t, get(t, p, path)); !strings.Contains(text, want) ||
			strings.Contains(text, "\nOPERATIONS\n") != strings.HasSuffix(path, "all") {
			t.Errorf("%s:\n%.300s", path, text)
		}
	}
	answer := get(t, p, "/?format=pprof")
	if prof := check.Gunzip(t, answer.Body); !bytes.Contains(prof, []byte("fell out of the window")) {
		t.Errorf("profile: %q", prof)
	}
	check.Equal(t, "a profile has the type", "application/octet-stream", answer.Header.Get("Content-Type"))
	if text := body(t, get(t, p, "/trace.json")); !json.Valid([]byte(text)) || !strings.Contains(text, `"op1"`) {
		t.Errorf("Chrome trace:\n%.300s", text)
	}
	for path, want := range map[string]int{
		"/?format=xml": 400, "/?format=text&section=nope": 400, "/other": 404, "/../../etc/passwd": 404, "/data/x": 404,
	} {
		if r := get(t, p, path); r.StatusCode != want {
			t.Errorf("%s: %s", path, r.Status)
		}
	}
	post := httptest.NewRecorder()
	const since = "/?format=json&since=start"
	p.ServeHTTP(post, httptest.NewRequestWithContext(t.Context(), http.MethodPost, since, nil))
	check.Equal(t, "POST", http.StatusMethodNotAllowed, post.Code)
	check.Equal(t, "caching", "no-store", get(t, p, since).Header.Get("Cache-Control"))
}

// looks is a context that is done after some calls of Err.
type looks struct {
	context.Context
	left atomic.Int64
}

func (l *looks) Err() error {
	if l.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Work for a disconnected client ends without output or cached data, and others get complete answers.
func TestPageEndsWithClient(t *testing.T) {
	w := NewWindow(Limits{})
	p := &Page{Window: w}
	fill(w.Input("entries-jsonl"), mixed(5000))
	for _, path := range []string{"/", "/data", "/?format=json", "/?format=text&section=all", "/?format=pprof",
		"/trace.json"} {
		ask := func(left int64) (size int, further int64) {
			l := &looks{Context: context.Background()}
			l.left.Store(left)
			answer := httptest.NewRecorder()
			p.ServeHTTP(answer, httptest.NewRequestWithContext(l, http.MethodGet, path, nil))
			p.built = built{}
			return answer.Body.Len(), -l.left.Load()
		}
		const many = 1 << 40
		whole, left := ask(many)
		all := many + left
		for _, part := range []int64{0, all / 3, all - all/4, all - 1} {
			if size, further := ask(part); size > 0 || further > 64 {
				t.Errorf("%s, gone after %d of %d looks at that: %d bytes, %d further looks", path, part, all, size,
					further)
			}
		}
		if again, _ := ask(many); again != whole {
			t.Errorf("%s: %d bytes, then %d", path, whole, again)
		}
	}
}

// Records come in while reports are made.
func TestPageConcurrentSafe(t *testing.T) {
	w := NewWindow(Limits{Records: 500})
	p := &Page{Window: w}
	var wg sync.WaitGroup
	for range 3 {
		in := w.Input("entries-jsonl")
		wg.Go(func() {
			for range 5 {
				fill(in, mixed(300))
			}
		})
		wg.Go(func() {
			for _, path := range []string{"/", "/data", "/?format=json", "/trace.json", "/data"} {
				if r := get(t, p, path); r.StatusCode != http.StatusOK {
					t.Errorf("%s: %s", path, r.Status)
				}
			}
		})
	}
	wg.Wait()
	v := w.view()
	held := 0
	for _, b := range v.blocks {
		held += b.operations
	}
	want := int64(0)
	for rec := range mixed(300) {
		if rec.Entry != nil {
			want += 15
		}
	}
	check.Equal(t, "operations", want, int64(held)+v.lost.Operations)
}

// stuck is the ResponseWriter of a client that does not read until it is cut off.
type stuck struct {
	header   http.Header
	writing  chan struct{}
	cut      chan struct{}
	deadline time.Time
}

func newStuck() *stuck {
	return &stuck{header: make(http.Header), writing: make(chan struct{}), cut: make(chan struct{})}
}

func (s *stuck) Header() http.Header { return s.header }

func (s *stuck) WriteHeader(int) {}

func (s *stuck) SetWriteDeadline(t time.Time) error {
	s.deadline = t
	return nil
}

func (s *stuck) Write([]byte) (int, error) {
	close(s.writing)
	<-s.cut
	return 0, errors.New("i/o timeout")
}

// A client that does not read its answer delays no other client, and has a deadline.
func TestStuckClientDelaysNoOther(t *testing.T) {
	w := NewWindow(Limits{})
	fill(w.Input(""), mixed(50))
	p := &Page{Window: w}
	for _, path := range []string{"/", "/data", "/trace.json", "/?format=json"} {
		client, done := newStuck(), make(chan struct{})
		go func() {
			p.ServeHTTP(client, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			close(done)
		}()
		<-client.writing
		check.Equal(t, path+" of another client", http.StatusOK, get(t, p, path).StatusCode)
		if wait := time.Until(client.deadline); wait <= 0 || wait > chunkTime {
			t.Errorf("%s: the client is cut off in %v", path, wait)
		}
		close(client.cut)
		<-done
	}
	check.Equal(t, "bytes being sent in the end", 0, p.sending.bytes)
}

// Unread answers take a bounded amount of memory, and one answer to many clients counts once.
func TestUnreadAnswersAreBounded(t *testing.T) {
	var s sending
	large := func() *answer { return &answer{data: make([]byte, maxSending/2)} }
	shared := large()
	for _, tt := range []struct {
		name string
		a    *answer
		want bool
	}{
		{"first", shared, true}, {"same", shared, true}, {"second", large(), true}, {"third", large(), false},
	} {
		check.Equal(t, tt.name, tt.want, s.admit(tt.a))
	}
	refused := httptest.NewRecorder()
	s.send(refused, plain, large())
	check.Equal(t, "third", http.StatusServiceUnavailable, refused.Code)
	s.release(shared)
	check.Equal(t, "third, while another client reads the first", false, s.admit(large()))
	s.release(shared)
	check.Equal(t, "third, in place of the first", true, s.admit(large()))
	var alone sending
	check.Equal(t, "an answer beyond the limit, alone", true, alone.admit(&answer{data: make([]byte, maxSending+1)}))
}
