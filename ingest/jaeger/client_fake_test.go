package jaeger_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
