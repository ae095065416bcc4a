package receiver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"go.uber.org/goleak"
	rpc "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip" // what SDKs compress with
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/internal/serve/livepage"
	"github.com/optrace/optrace/internal/serve/loopback"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

func TestMain(m *testing.M) {
	if err := gzip.SetLevel(1); err != nil { // a client that compresses slowly is given up
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// batch is a request with n operations below a span.
func batch(n int) *collector.ExportTraceServiceRequest {
	text := func(s string) *common.AnyValue {
		return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
	}
	spans := []*trace.Span{{
		TraceId: bytes.Repeat([]byte{1}, 16), SpanId: bytes.Repeat([]byte{9}, 8), Name: "request", StartTimeUnixNano: 1,
		EndTimeUnixNano: 1e6,
	}}
	for i := range n {
		spans = append(spans, &trace.Span{
			TraceId: bytes.Repeat([]byte{1}, 16), SpanId: []byte{2, 0, 0, 0, 0, 0, byte(i >> 8), byte(i)},
			ParentSpanId: bytes.Repeat([]byte{9}, 8),
			Name:         "matmul", StartTimeUnixNano: uint64(100 * i), EndTimeUnixNano: uint64(100*i + 50),
			Attributes: []*common.KeyValue{{Key: "tensor.op.name", Value: text("matmul")},
				{Key: "tensor.device.id", Value: text("cuda:0")}},
		})
	}
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*trace.ResourceSpans{{ScopeSpans: []*trace.ScopeSpans{{Spans: spans}}}}}
}

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	return check.Must(proto.Marshal(m))(t)
}

// batchJSON is a request in OTLP JSON, with ids in hexadecimal.
const batchJSON = `{"resourceSpans":[{"scopeSpans":[{"spans":[
{"traceId":"01010101010101010101010101010101","spanId":"0202020202020202","name":"matmul","startTimeUnixNano":"100","endTimeUnixNano":"150",
"attributes":[{"key":"tensor.op.name","value":{"stringValue":"matmul"}}]}%s]}]}]}`

// figures are the tested figures of a report.
type figures struct {
	Input   struct{ Entries, Spans, Malformed, Files int64 }
	Engines []any
}

func figuresOf(t *testing.T, w *livepage.Window) (f figures) {
	t.Helper()
	answer := httptest.NewRecorder()
	(&livepage.Page{Window: w}).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet,
		"/?format=json", nil))
	check.OK(t, json.Unmarshal(answer.Body.Bytes(), &f))
	return f
}

func TestHTTP(t *testing.T) {
	const protobuf, jsonText = "application/x-protobuf", "application/json"
	good := marshal(t, batch(3))
	for name, c := range map[string]struct {
		method, path, kind, coding string
		body                       []byte
		host                       string
		want                       int
		entries, malformed         int64
		rejected                   int64
		engines                    int
	}{
		"protobuf":       {kind: protobuf, body: good, want: 200, entries: 3},
		"protobuf, gzip": {kind: protobuf, coding: "gzip", body: check.Gzip(t, good), want: 200, entries: 3},
		"empty protobuf": {kind: protobuf, want: 200},
		"JSON":           {kind: jsonText, body: fmt.Appendf(nil, batchJSON, ""), want: 200, entries: 1},
		"JSON with a charset": {kind: jsonText + "; charset=utf-8", body: fmt.Appendf(nil, batchJSON, ""), want: 200,
			entries: 1},
		"JSON, gzip": {kind: jsonText, coding: "gzip", body: check.Gzip(t, fmt.Appendf(nil, batchJSON, "")),
			want: 200, entries: 1},
		"requests of an engine": {
			kind: jsonText, body: check.Must(os.ReadFile("../../testdata/figures/31_sglang.otlp.jsonl"))(t), want: 200,
			engines: 1,
		},
		"no span": {kind: jsonText, body: []byte("{}"), want: 200},
		"one bad span": {
			kind: jsonText, body: fmt.Appendf(nil, batchJSON, `,{"name":5,"spanId":{}}`), want: 200, entries: 1,
			malformed: 1, rejected: 1,
		},

		"bad protobuf": {kind: protobuf, body: []byte("\x0a\x05hello world"), want: 400, malformed: 1},
		"bad JSON":     {kind: jsonText, body: []byte("hello"), want: 400, malformed: 1},
		"empty JSON":   {kind: jsonText, want: 400},
		"cut off JSON": {kind: jsonText, body: fmt.Appendf(nil, batchJSON, "")[:100], want: 400},
		"not gzip":     {kind: protobuf, coding: "gzip", body: good, want: 400},
		"cut off gzip": {kind: protobuf, coding: "gzip", body: check.Gzip(t, good)[:40], want: 400},
		"gzip bomb": {kind: protobuf, coding: "gzip", body: check.Gzip(t, make([]byte, MaxRequestBytes+1)),
			want: 413},
		"too large":         {kind: protobuf, body: make([]byte, MaxRequestBytes+1), want: 413},
		"another coding":    {kind: protobuf, coding: "zstd", body: good, want: 415},
		"text":              {kind: "text/plain", body: good, want: 415},
		"no type":           {body: good, want: 415},
		"GET":               {method: http.MethodGet, kind: protobuf, want: 405},
		"metrics":           {path: "/v1/metrics", kind: protobuf, body: good, want: 404},
		"another path":      {path: "/v1/traces/../../etc/passwd", kind: protobuf, body: good, want: 307},
		"another site":      {kind: protobuf, body: good, host: "evil.example:4318", want: 421},
		"a name that rules": {kind: protobuf, body: good, host: "127.0.0.1.evil.example", want: 421},
	} {
		t.Run(name, func(t *testing.T) {
			window := livepage.NewWindow(livepage.Limits{})
			h := New(window, nil, 128<<20).Handler("")
			url := "http://127.0.0.1:4318" + cmp.Or(c.path, Path)
			r := httptest.NewRequestWithContext(t.Context(), cmp.Or(c.method, http.MethodPost), url,
				bytes.NewReader(c.body))
			r.Host = cmp.Or(c.host, r.Host)
			r.Header.Set("Content-Type", c.kind)
			r.Header.Set("Content-Encoding", c.coding)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.want {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			f := figuresOf(t, window)
			if f.Input.Entries != c.entries || f.Input.Malformed != c.malformed || len(f.Engines) != c.engines {
				t.Errorf("the window has %+v", f)
			}
			kind, _, _ := strings.Cut(c.kind, ";")
			if c.want != 200 && c.want != 400 && c.want != 413 {
				return
			}
			check.Equal(t, "content type", kind, w.Header().Get("Content-Type"))
			unmarshal := proto.Unmarshal
			if kind == jsonText {
				unmarshal = protojson.Unmarshal
			}
			if c.want != 200 {
				var s rpc.Status
				if err := unmarshal(w.Body.Bytes(), &s); err != nil || s.GetMessage() == "" {
					t.Errorf("no status in the answer: %v, %q", err, w.Body)
				}
				return
			}
			var answer collector.ExportTraceServiceResponse
			check.OK(t, unmarshal(w.Body.Bytes(), &answer))
			if p := answer.GetPartialSuccess(); p.GetRejectedSpans() != c.rejected ||
				(p.GetErrorMessage() != "") != (c.rejected > 0) {
				t.Errorf("partial success %v", p)
			}
		})
	}
}

func post(t *testing.T, r *Receiver, body []byte) int {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+Path, bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/x-protobuf")
	w := httptest.NewRecorder()
	r.Handler("").ServeHTTP(w, req)
	if w.Code == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
		t.Error("no time to come again")
	}
	return w.Code
}

// Too many requests, or too many bytes, are told to retry; each protocol has its own limit.
func TestTurns(t *testing.T) {
	for name, of := range map[string]func(*Receiver) *door{
		"HTTP": func(r *Receiver) *door { return r.http }, "gRPC": func(r *Receiver) *door { return r.grpc },
	} {
		t.Run(name, func(t *testing.T) {
			r := New(livepage.NewWindow(livepage.Limits{}), nil, 128<<20)
			r.http.patience, r.grpc.patience = time.Millisecond, time.Millisecond
			_, address := starts(t, r)
			conn := newConn(t, address)
			d := of(r)
			both := func(what string, full bool) {
				t.Helper()
				var answer collector.ExportTraceServiceResponse
				err := conn.Invoke(t.Context(), method, marshal(t, batch(1)), &answer, grpc.WaitForReady(true))
				code := post(t, r, marshal(t, batch(1)))
				wantHTTP, wantGRPC := http.StatusOK, codes.OK
				switch {
				case full && d.memory.held.Load() > 0: // shared by both
					wantHTTP, wantGRPC = http.StatusServiceUnavailable, codes.Unavailable
				case full && name == "HTTP":
					wantHTTP = http.StatusServiceUnavailable
				case full:
					wantGRPC = codes.Unavailable
				}
				if code != wantHTTP || status.Code(err) != wantGRPC {
					t.Errorf("%s: HTTP %d, gRPC %v", what, code, err)
				}
			}
			for range MaxRequests {
				d.turns <- struct{}{}
			}
			both("all turns", true)
			<-d.turns
			both("all turns but one", false)
			d.memory.held.Add(d.memory.limit)
			both("all bytes", true)
			d.memory.held.Add(-d.memory.limit)
			both("no bytes", false)
			if len(d.turns) != MaxRequests-1 || d.memory.held.Load() != 0 {
				t.Errorf("%d turns and %d bytes are taken", len(d.turns), d.memory.held.Load())
			}
		})
	}
}

// newConn returns a connection to a server, until the test ends.
func newConn(t *testing.T, address string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn := check.Must(grpc.NewClient(address, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(clientCodec{})))...))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

type clientCodec struct{}

func (clientCodec) Name() string { return "proto" }
func (clientCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (clientCodec) Unmarshal(data mem.BufferSlice, v any) error {
	return proto.Unmarshal(data.Materialize(), v.(proto.Message))
}

func TestGRPC(t *testing.T) {
	for name, c := range map[string]struct {
		body    []byte
		method  string
		opts    []grpc.CallOption
		dial    []grpc.DialOption
		want    codes.Code
		entries int64
	}{
		"good":      {body: marshal(t, batch(3)), entries: 3},
		"gzip":      {body: marshal(t, batch(300)), opts: []grpc.CallOption{grpc.UseCompressor("gzip")}, entries: 300},
		"empty":     {},
		"bad":       {body: []byte("\x0a\x05hello world"), want: codes.InvalidArgument},
		"too large": {body: make([]byte, MaxRequestBytes+1), want: codes.ResourceExhausted},
		"gzip bomb": {
			body: make([]byte, MaxRequestBytes+1), opts: []grpc.CallOption{grpc.UseCompressor("gzip")},
			want: codes.ResourceExhausted,
		},
		"metrics": {method: "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
			want: codes.Unimplemented},
		"another site": {body: marshal(t, batch(3)), dial: []grpc.DialOption{grpc.WithAuthority("evil.example")},
			want: codes.PermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			window := livepage.NewWindow(livepage.Limits{})
			_, address := starts(t, New(window, nil, 128<<20))
			conn := newConn(t, address, c.dial...)
			var answer collector.ExportTraceServiceResponse
			err := conn.Invoke(t.Context(), cmp.Or(c.method, method), c.body, &answer,
				append(c.opts, grpc.WaitForReady(true))...)
			if status.Code(err) != c.want {
				t.Errorf("error %v", err)
			}
			if f := figuresOf(t, window); f.Input.Entries != c.entries {
				t.Errorf("the window has %+v", f.Input)
			}
		})
	}
}

// A request other than a gRPC call gets a readable answer, and a malformed message an error.
func TestNoCalls(t *testing.T) {
	r := New(livepage.NewWindow(livepage.Limits{}), nil, 128<<20)
	for name, c := range map[string]struct {
		major      int
		kind, body string
		coding     string
		want       int
		code       codes.Code
	}{
		"HTTP/1":       {major: 1, kind: "application/grpc", want: http.StatusHTTPVersionNotSupported},
		"another kind": {major: 2, kind: "application/json", want: http.StatusUnsupportedMediaType},
		"nothing":      {major: 2, kind: "application/grpc", want: http.StatusOK, code: codes.InvalidArgument},
		"half": {major: 2, kind: "application/grpc", body: "\x00\x00\x00\x00\x09", want: http.StatusOK,
			code: codes.InvalidArgument},
		"two": {major: 2, kind: "application/grpc+proto", body: strings.Repeat("\x00\x00\x00\x00\x00", 2),
			want: http.StatusOK, code: codes.InvalidArgument},
		"unknown codec": {major: 2, kind: "application/grpc", coding: "zstd", body: "\x01\x00\x00\x00\x00",
			want: http.StatusOK, code: codes.Unimplemented},
		"one": {major: 2, kind: "application/grpc", body: "\x00\x00\x00\x00\x00", want: http.StatusOK},
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+method,
			strings.NewReader(c.body))
		req.ProtoMajor = c.major
		req.Header.Set("Content-Type", c.kind)
		req.Header.Set("Grpc-Encoding", c.coding)
		w := httptest.NewRecorder()
		r.GRPC().ServeHTTP(w, req)
		if w.Code != c.want || w.Code == http.StatusOK &&
			w.Result().Trailer.Get("Grpc-Status") != fmt.Sprint(int(c.code)) {
			t.Errorf("%s: status %d, trailer %v", name, w.Code, w.Result().Trailer)
		}
	}
}

// Decoded data counts in the memory of all requests, and a request that needs more gets an error.
func TestRequestsShareMemory(t *testing.T) {
	scope := bytes.Repeat([]byte{3<<3 | 2, 0}, 1<<20) // empty attributes
	message := func(n byte, text []byte) []byte {
		return append(binary.AppendUvarint([]byte{n<<3 | 2}, uint64(len(text))), text...)
	}
	body := message(1, message(2, message(1, scope)))
	r := New(livepage.NewWindow(livepage.Limits{}), nil, 16<<20)
	check.Equal(t, "a bomb", http.StatusRequestEntityTooLarge, post(t, r, body))
	check.Equal(t, "a batch", http.StatusOK, post(t, r, marshal(t, batch(100))))
	check.Equal(t, "held", int64(0), r.http.memory.held.Load())
}

// Work on a request ends when its client has gone.
func TestClientHasGone(t *testing.T) {
	window := livepage.NewWindow(livepage.Limits{})
	r := New(window, nil, 128<<20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.take(ctx, r.protobuf, &share{all: r.http.memory}, marshal(t, batch(1000)))
	check.Is(t, "", context.Canceled, err)
	if f := figuresOf(t, window); f.Input.Entries != 0 {
		t.Errorf("%d entries", f.Input.Entries)
	}
}

// starts starts a server of each protocol, until the test ends, and returns their addresses.
func starts(t *testing.T, r *Receiver) (overHTTP, overGRPC string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var servers sync.WaitGroup
	start := func(h http.Handler) string {
		l := check.Must(loopback.Listen(ctx, "127.0.0.1:0"))(t)
		servers.Go(func() {
			if err := loopback.Serve(ctx, l, h); err != nil {
				t.Error(err)
			}
		})
		return l.Addr().String()
	}
	t.Cleanup(func() {
		cancel()
		servers.Wait()
	})
	return start(r.Handler("")), start(r.GRPC())
}

// S3: clients that send no data, half a header or a slow body do not affect others, and are given up.
func TestSlowClientsStarveNoOther(t *testing.T) {
	r := New(livepage.NewWindow(livepage.Limits{}), nil, 128<<20)
	overHTTP, overGRPC := starts(t, r)
	const slow = 4 * MaxRequests
	var conns []net.Conn
	connect := func(address, text string) {
		conn := check.Must((&net.Dialer{}).DialContext(t.Context(), "tcp", address))(t)
		conns = append(conns, conn)
		check.Must(io.WriteString(conn, text))(t)
	}
	conn := newConn(t, overGRPC)
	for range slow {
		for _, address := range []string{overHTTP, overGRPC} {
			connect(address, "")
			connect(address, "POST "+Path+" HTTP/1.1\r\nHost: localhost\r\nContent-")
			connect(address,
				"POST "+Path+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+
					"application/x-protobuf\r\nContent-Length: 1000\r\n\r\nx")
		}
	}
	for range MaxRequests { // of a connection
		check.Must(conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, method,
			grpc.WaitForReady(true)))(t)
	}
	good := newConn(t, overGRPC)
	start := time.Now()
	for range 20 {
		answer := check.Must(http.Post("http://"+overHTTP+Path, "application/x-protobuf",
			bytes.NewReader(marshal(t, batch(10)))))(t)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("status %s", answer.Status)
		}
		var response collector.ExportTraceServiceResponse
		check.OK(t, good.Invoke(t.Context(), method, marshal(t, batch(10)), &response, grpc.WaitForReady(true)))
	}
	if took := time.Since(start); took > slowTime/2 {
		t.Errorf("20 requests of each protocol took %v", took)
	}
	http.DefaultClient.CloseIdleConnections()
	for i, c := range conns {
		_ = c.SetReadDeadline(start.Add(4 * slowTime))
		if text, err := io.ReadAll(c); err != nil {
			t.Fatalf("client %d: %v, %q", i, err, text)
		}
		_ = c.Close()
	}
}

// S3: all requests of a fleet of exporters with open connections are served. Like exporters they retry if the receiver
// is busy.
func TestFleetOfExportersIsServed(t *testing.T) {
	window := livepage.NewWindow(livepage.Limits{Records: 1 << 20})
	r := New(window, nil, 128<<20)
	overHTTP, overGRPC := starts(t, r)
	exporters := cases.Count(t, 256, 1024)
	body := marshal(t, batch(10))
	var wg sync.WaitGroup
	again := make(chan struct{})
	for range exporters {
		client := &http.Client{Transport: &http.Transport{}}
		conn := newConn(t, overGRPC)
		t.Cleanup(client.CloseIdleConnections)
		post := func() error {
			answer, err := client.Post("http://"+overHTTP+Path, "application/x-protobuf", bytes.NewReader(body))
			if err != nil {
				return err
			}
			_ = answer.Body.Close()
			switch answer.StatusCode {
			case http.StatusOK:
				return nil
			case http.StatusServiceUnavailable:
				return errBusy
			}
			return errors.New(answer.Status)
		}
		invoke := func() error {
			var response collector.ExportTraceServiceResponse
			err := conn.Invoke(t.Context(), method, body, &response, grpc.WaitForReady(true))
			if status.Code(err) == codes.Unavailable {
				return errBusy
			}
			return err
		}
		send := func() {
			for _, try := range []func() error{post, invoke} {
				err := try()
				for wait := time.Millisecond; errors.Is(err, errBusy) && wait < 10*time.Second; wait *= 2 {
					time.Sleep(wait)
					err = try()
				}
				if err != nil {
					t.Error(err)
				}
			}
		}
		send()
		wg.Go(func() {
			<-again
			for range 2 {
				send()
			}
		})
	}
	close(again)
	wg.Wait()
	// more after a retry of an interrupted request
	if f := figuresOf(t, window); f.Input.Entries < int64(exporters*3*2*10) || f.Input.Files != 1 {
		t.Errorf("%d entries of %d exporters in %d files", f.Input.Entries, exporters, f.Input.Files)
	}
}

// The receiver answers every post and counts unreadable records.
func FuzzTake(f *testing.F) {
	text := check.Must(proto.Marshal(batch(2)))(f)
	f.Add(text, true)
	f.Add(text[:len(text)-3], true)
	f.Add([]byte(strings.Replace(batchJSON, "%s", "", 1)), false)
	f.Fuzz(func(t *testing.T, body []byte, isProto bool) {
		window := livepage.NewWindow(livepage.Limits{})
		r := New(window, nil, 128<<20)
		e := r.json
		if isProto {
			e = r.protobuf
		}
		answer, err := r.take(t.Context(), e, &share{all: r.http.memory}, body)
		if (answer == nil) == (err == nil) {
			t.Fatalf("answer %v, error %v", answer, err)
		}
		check.Must(io.WriteString(io.Discard, fmt.Sprint(figuresOf(t, window))))(t)
	})
}
