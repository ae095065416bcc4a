package oracle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/cmd/optrace/internal/convert"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/input"
	"github.com/optrace/optrace/cmd/optrace/internal/output"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/live"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// store is a receiver of profiles that adds their samples up.
type store struct {
	*httptest.Server
	mu        sync.Mutex
	messages  int
	samples   map[string]int64
	resources map[string]bool
}

func newStore(tb testing.TB) *store {
	tb.Helper()
	s := &store{samples: make(map[string]int64), resources: make(map[string]bool)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		message := check.Gunzip(tb, r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.add(tb, message)
	}))
	tb.Cleanup(s.Close)
	return s
}

// add adds the samples of a message, by type, stack, attributes and link.
func (s *store) add(tb testing.TB, message []byte) {
	tb.Helper()
	request := pprofileotlp.NewExportRequest()
	if err := request.UnmarshalProto(message); err != nil {
		tb.Error(err)
		return
	}
	s.messages++
	for _, sample := range samplesOf(request.Profiles()) {
		s.samples[sample.kind+"|"+fmt.Sprint(sample.names, sample.attributes, sample.link)] += sample.value
		s.resources[fmt.Sprint(sample.resource)] = true
	}
}

func (s *store) count() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, v := range s.samples {
		if strings.HasPrefix(key, "count|") {
			n += v
		}
	}
	return n
}

// recordRequest records a request whose operations lie below others, some of which still run
// when pause is called.
func recordRequest(tp trace.TracerProvider, i int, pause func()) {
	const device = "cuda:0"
	engine, tr := tp.Tracer("engine"), optrace.NewTracer(tp)
	ctx, request := engine.Start(context.Background(), fmt.Sprint("POST /", i%3))
	ctx, step := engine.Start(ctx, "step")
	_, relu := tr.Start(ctx, "relu", device)
	ctx, attention := tr.Start(ctx, "attention", device)
	_, o := tr.Start(ctx, "matmul", device)
	o.In(64, 32).In(32, 8).Out(64, 8).DType(op.F32).End()
	pause()
	inner, softmax := tr.Start(ctx, "softmax", device)
	_, o = tr.Start(inner, "exp", device)
	o.Attrs(tensorconv.MemorySize(64)).End()
	softmax.End()
	attention.End()
	pause()
	relu.End()
	step.End()
	request.End()
}

// What is pushed is, added up, what the file of the same operations is converted to, whenever
// intervals end.
func TestPushedIsTheProfileOfTheFile(t *testing.T) {
	s := newStore(t)
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	exp := check.Must(optrace.NewFileExporter(path))(t)
	file := check.Must(optrace.NewProcessor(exp))(t)
	p := check.Must(live.NewProcessor(live.WithProfilePush(s.URL, time.Second)))(t)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p), sdktrace.WithSpanProcessor(file))
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for k := range 100 {
				recordRequest(tp, i, func() {
					if k%50 == i {
						time.Sleep(600 * time.Millisecond)
					}
				})
			}
		})
	}
	wg.Wait()
	check.OK(t, tp.Shutdown(t.Context()))
	whole := &store{samples: make(map[string]int64), resources: make(map[string]bool)}
	whole.add(t, wholeMessage(t, path))
	check.Equal(t, "pushed against file", whole.samples, s.samples)
	check.Equal(t, "resources: pushed against file", whole.resources, s.resources)
	got := p.PushStats()
	if got.Operations != s.count() || got.Operations != 3000 || int(got.Profiles) != s.messages || s.messages < 3 {
		t.Errorf("%d messages of %d operations, stats %+v", s.messages, s.count(), got)
	}
	if got.LostProfiles+got.LostOperations+got.Missed+got.Forgotten+got.Waiting+got.Rejected != 0 || got.LastError != "" {
		t.Errorf("stats %+v", got)
	}
}

// wholeMessage returns the profile that a file is converted to.
func wholeMessage(t *testing.T, path string) []byte {
	t.Helper()
	var b bytes.Buffer
	out := output.To(&b)
	to := check.Must(convert.Find(convert.OTLPProfiles))(t)
	src := input.Source{Inputs: []string{path}, InOut: flags.InOut{Memory: ingest.DefaultMaxMemory}}
	check.OK(t, errors.Join(to.Write(streams.Streams{Err: io.Discard}, src, out, false, ""), out.Flush()))
	return b.Bytes()
}
