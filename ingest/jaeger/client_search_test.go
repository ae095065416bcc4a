package jaeger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// noon is the end of the searched hour.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// spread returns n traces within the hour, most of them in one second of it, the latest last.
func spread(n int) []fakeTrace {
	r := rand.New(rand.NewPCG(1, 2))
	traces := make([]fakeTrace, n)
	for i := range traces {
		within := time.Duration(r.Int64N(int64(time.Second)))
		if i%10 == 0 {
			within = time.Duration(r.Int64N(int64(time.Hour)))
		}
		traces[i] = fakeTrace{id: i + 1, start: noon.Add(-time.Hour).Add(within), duration: time.Millisecond}
	}
	return traces
}

func lastHour(limit int) jaeger.Query {
	return jaeger.Query{Service: "api", Start: noon.Add(-time.Hour), End: noon, Limit: limit}
}

// search returns the ids of the traces found, and the problems.
func search(t *testing.T, c *jaeger.Client, q jaeger.Query) (found map[int]int, problems []string) {
	t.Helper()
	found = make(map[int]int)
	for tr, err := range c.Search(t.Context(), q) {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax):
			problems = append(problems, syntax.Msg)
			continue
		case err != nil:
			t.Fatal(err)
		case len(tr.Entries) != 1 || len(tr.Spans) != 1:
			t.Errorf("trace %v has %d operations and %d other spans, want 1 and 1", tr.ID, len(tr.Entries),
				len(tr.Spans))
		}
		found[int(tr.ID[14])<<8|int(tr.ID[15])]++
	}
	return found, problems
}

// each returns n traces at intervals of step.
func each(n int, step time.Duration) (traces []fakeTrace) {
	for i := range n {
		traces = append(traces, fakeTrace{id: i + 1, start: noon.Add(-time.Hour).Add(time.Duration(i) * step)})
	}
	return traces
}

// A search finds all traces once, or the limit, and reports missing ones.
func TestSearch(t *testing.T) {
	thousands := spread(3000)
	for name, test := range map[string]struct {
		fake     fakeJaeger
		limit    int
		memory   int64
		from, to int // the ids that are found
		problem  string
	}{
		"v3":            {fake: fakeJaeger{traces: thousands}, limit: 6000, from: 1, to: 3000},
		"v1":            {fake: fakeJaeger{traces: thousands, v1: true}, limit: 6000, from: 1, to: 3000},
		"small storage": {fake: fakeJaeger{traces: thousands, depth: 40}, limit: 6000, from: 1, to: 3000},
		"the latest":    {fake: fakeJaeger{traces: each(1000, time.Second)}, limit: 50, from: 951, to: 1000},
		"empty, v3":     {limit: 10, from: 1},
		"empty, v1":     {fake: fakeJaeger{v1: true}, limit: 10, from: 1},
		// More traces than a page holds, in a window too small to divide.
		"one instant": {fake: fakeJaeger{traces: each(300, 0)}, limit: 1000, from: 1, to: 100,
			problem: "100 traces or more"},
		// An answer above the limit is requested in parts.
		"large answers": {fake: fakeJaeger{traces: spread(300)}, limit: 1000, memory: 128 << 10, from: 1, to: 300},
		"a large trace": {fake: fakeJaeger{traces: spread(1)}, limit: 10, memory: 1600, from: 1, problem: "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, test.fake.ServeHTTP, jaeger.ClientOptions{MaxMemory: test.memory})
			found, problems := search(t, c, lastHour(test.limit))
			for id := test.from; id <= test.to; id++ {
				check.Equal(t, fmt.Sprintf("trace %d found: times", id), 1, found[id])
			}
			if len(found) != test.to-test.from+1 {
				t.Errorf("%d traces, want %d to %d", len(found), test.from, test.to)
			}
			told := strings.Join(problems, "\n")
			if (told == "") != (test.problem == "") || !strings.Contains(told, test.problem) || len(problems) > 1 {
				t.Errorf("problems %q, want %q", problems, test.problem)
			}
			if test.fake.calls > 1000 {
				t.Errorf("%d calls", test.fake.calls)
			}
		})
	}
}

// API version 1 fails on a number that is not finite. The traces around it are found, the missing one is reported.
func TestSearchNotFinite(t *testing.T) {
	const n = 500
	f := &fakeJaeger{v1: true, traces: spread(n)}
	f.traces[123].nan = true
	found, problems := search(t, serve(t, f.ServeHTTP, jaeger.ClientOptions{}), lastHour(2*n))
	bad := f.traces[123].start
	for _, tr := range f.traces {
		near := tr.start.Sub(bad).Abs() < 2*time.Millisecond
		if found[tr.id] != 1 && !near {
			t.Errorf("trace %d found %d times", tr.id, found[tr.id])
		}
	}
	if len(problems) != 1 || !strings.Contains(problems[0], "not finite") {
		t.Errorf("problems %q", problems)
	}
}

// A server that ignores the window does not keep the search forever.
func TestSearchWindowIgnored(t *testing.T) {
	answer := recorded(t, "client/v2.20.search.v3.json")
	calls := 0
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		_, _ = w.Write(answer)
	}, jaeger.ClientOptions{})
	found := 0
	for _, err := range c.Search(t.Context(), lastHour(100)) {
		check.OK(t, err)
		found++
	}
	if found != 3 || calls != 1 {
		t.Errorf("%d traces in %d calls", found, calls)
	}
}

func TestSearchQuery(t *testing.T) {
	var got []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.RequestURI())
		if strings.Contains(r.URL.Path, "/v3/") {
			fmt.Fprint(w, "<html>")
		} else {
			fmt.Fprint(w, `{"data":[],"errors":null}`)
		}
	}, jaeger.ClientOptions{})
	q := lastHour(7)
	q.Operation, q.MinDuration, q.End = "POST /v1", 1500*time.Microsecond, noon.Add(time.Nanosecond)
	for _, err := range c.Search(t.Context(), q) {
		t.Errorf("error %v", err)
	}
	want := []string{
		"/jaeger/api/v3/traces?query.duration_min=1.5ms&query.num_traces=100&query.operation_name=POST+%2Fv1&" +
			"query.raw_traces=true&query.service_name=api&query.start_time_max=2026-11-21T12%3A00%3A00.000001Z&" +
			"query.start_time_min=2026-11-21T11%3A00%3A00Z",
		"/jaeger/api/traces?end=1795262400000001&limit=100&minDuration=1.5ms&operation=POST+%2Fv1&raw=true&" +
			"service=api&start=1795258800000000",
	}
	check.Equal(t, "calls", want, got)
}

func TestSearchErrors(t *testing.T) {
	c := serve(t, (&fakeJaeger{}).ServeHTTP, jaeger.ClientOptions{})
	for name, q := range map[string]jaeger.Query{
		"no service": {Start: noon, End: noon.Add(1), Limit: 1},
		"no limit":   {Service: "api", Start: noon, End: noon.Add(1)},
		"no time":    {Service: "api", Start: noon, End: noon, Limit: 1},
		"refused":    {Service: "other", Start: noon, End: noon.Add(1), Limit: 1},
	} {
		n := 0
		for tr, err := range c.Search(t.Context(), q) {
			if n++; err == nil {
				t.Errorf("%s: trace %v", name, tr)
			}
		}
		check.Equal(t, fmt.Sprintf("%s: results", name), 1, n)
	}
}

// Summaries of pruned operations come from events and logs.
func TestClientPruned(t *testing.T) {
	want := []op.Pruned{
		{TraceID: traceID(t, recordedID), SpanID: op.SpanID{7: 0xaa}, Operation: "relu", DeviceID: "cuda:0", Count: 3,
			Duration: 4500},
		{TraceID: traceID(t, recordedID), SpanID: op.SpanID{7: 0xaa}, Operation: "add", Count: 1, Duration: 250},
	}
	for path, file := range map[string]string{path3: "client/pruned.v3.json", path1: "client/pruned.v1.json"} {
		c := serve(t, paths(t, map[string]string{path: file}), jaeger.ClientOptions{})
		tr, _, err := c.Trace(t.Context(), traceID(t, recordedID))
		check.OK(t, err)
		check.Equal(t, file, want, tr.Pruned)
	}
}

// fakeTrace is a trace of two spans, a request and an operation in it.
type fakeTrace struct {
	id       int
	start    time.Time
	duration time.Duration
	nan      bool // holds a number that version 1 fails on
}

// fakeJaeger answers searches like Jaeger's memory storage: traces in the window in random order, up to the limit.
type fakeJaeger struct {
	traces []fakeTrace
	v1     bool // has no version 3
	depth  int  // most traces that may be asked for; 0 is any number
	calls  int
}

func (f *fakeJaeger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.calls++
	q := r.URL.Query()
	v3 := strings.HasSuffix(r.URL.Path, "/api/v3/traces")
	if v3 == f.v1 {
		fmt.Fprint(w, "<!doctype html><html></html>")
		return
	}
	// An unreadable value is zero.
	from, _ := time.Parse(time.RFC3339Nano, q.Get("query.start_time_min"))
	to, _ := time.Parse(time.RFC3339Nano, q.Get("query.start_time_max"))
	if f.v1 {
		start, _ := strconv.ParseInt(q.Get("start"), 10, 64)
		end, _ := strconv.ParseInt(q.Get("end"), 10, 64)
		from, to = time.UnixMicro(start), time.UnixMicro(end)
	}
	limit, _ := strconv.Atoi(q.Get("query.num_traces") + q.Get("limit"))
	if from.Unix() <= 0 || to.Unix() <= 0 || limit <= 0 || q.Get("query.service_name")+q.Get("service") != "api" {
		f.fail(w, http.StatusBadRequest, "bad query "+r.URL.RawQuery)
		return
	}
	if f.depth > 0 && limit >= f.depth {
		f.fail(w, http.StatusInternalServerError, "search depth must be greater than 0 and less than max traces")
		return
	}
	var found []fakeTrace
	for _, t := range f.traces {
		if !t.start.Before(from) && !t.start.After(to) && len(found) < limit {
			found = append(found, t)
		}
	}
	switch {
	case !v3 && slices.ContainsFunc(found, func(t fakeTrace) bool { return t.nan }):
		f.fail(w, http.StatusInternalServerError, "json: unsupported value: NaN")
	case v3 && len(found) == 0:
		f.fail(w, http.StatusNotFound, "No traces found")
	case v3:
		f.answerV3(w, found)
	default:
		f.answerV1(w, found)
	}
}

func (f *fakeJaeger) fail(w http.ResponseWriter, code int, msg string) {
	w.WriteHeader(code)
	if f.v1 {
		fmt.Fprintf(w, `{"data":null,"errors":[{"code":%d,"msg":%q}]}`, code, msg)
	} else {
		fmt.Fprintf(w, `{"error":{"httpCode":%d,"message":%q}}`, code, msg)
	}
}

// answerV3 mixes the traces: first all requests, then all operations.
func (f *fakeJaeger) answerV3(w http.ResponseWriter, found []fakeTrace) {
	var spans []string
	for _, part := range []string{
		`{"traceId":"%032x","spanId":"00000000000000aa","name":"POST /predict","startTimeUnixNano":"%d",` +
			`"endTimeUnixNano":"%d"}`,
		`{"traceId":"%032x","spanId":"00000000000000bb","parentSpanId":"00000000000000aa","name":"matmul",` +
			`"startTimeUnixNano":"%d","endTimeUnixNano":"%d",` +
			`"attributes":[{"key":"tensor.op.name","value":{"stringValue":"matmul"}}]}`,
	} {
		for _, t := range found {
			spans = append(spans, fmt.Sprintf(part, t.id, t.start.UnixNano(), t.start.Add(t.duration).UnixNano()))
		}
	}
	fmt.Fprintf(w, `{"result":{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{`+
		`"stringValue":"api"}}]},"scopeSpans":[{"spans":[%s]}]}]}}`,
		strings.Join(spans, ","))
}

func (f *fakeJaeger) answerV1(w http.ResponseWriter, found []fakeTrace) {
	traces := make([]string, len(found))
	for i, t := range found {
		us, d := t.start.UnixMicro(), t.duration.Microseconds()
		traces[i] = fmt.Sprintf(`{"traceID":"%032x","spans":[`+
			`{"traceID":"%032[1]x","spanID":"00000000000000aa","operationName":"POST /predict","references":[],`+
			`"startTime":%[2]d,"duration":%[3]d,"tags":[],"logs":[],"processID":"p1"},`+
			`{"traceID":"%032[1]x","spanID":"00000000000000bb","operationName":"matmul","references":[{`+
			`"refType":"CHILD_OF","traceID":"%032[1]x","spanID":"00000000000000aa"}],`+
			`"startTime":%[2]d,"duration":%[3]d,"tags":[{"key":"tensor.op.name","type":"string","value":"matmul"}],`+
			`"logs":[],"processID":"p1"}],"processes":{"p1":{"serviceName":"api","tags":[]}}}`, t.id, us, d)
	}
	fmt.Fprintf(w, `{"data":[%s],"total":0,"errors":null}`, strings.Join(traces, ","))
}
