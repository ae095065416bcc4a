package live_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/live"
)

// newReceiver receives profiles, and answers with a status.
func newReceiver(tb testing.TB, status int) *httptest.Server {
	tb.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	tb.Cleanup(s.Close)
	return s
}

// What a receiver refuses is lost: Stats, metrics and Shutdown say so.
func TestPushRefused(t *testing.T) {
	s := newReceiver(t, http.StatusBadRequest)
	reader := sdkmetric.NewManualReader()
	p := newProcessor(t, live.WithProfilePush(s.URL+"/in", time.Second), live.WithPushClient(s.Client()),
		live.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))))
	tp := provider(p)
	recordSome(tp, 10)
	for p.PushStats().LostOperations == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	var m metricdata.ResourceMetrics
	check.OK(t, reader.Collect(t.Context(), &m))
	lost := int64(0)
	for _, metric := range m.ScopeMetrics[0].Metrics {
		if sum, ok := metric.Data.(metricdata.Sum[int64]); ok && metric.Name == "tensor.op.push.lost" {
			lost = sum.DataPoints[0].Value
		}
	}
	check.Equal(t, "operations lost in metrics", 40, lost)
	err := p.Shutdown(t.Context())
	check.Says(t, "", "1 profiles of 40 operations were lost: the receiver answers 400 Bad Request", err)
	want := live.PushStats{LostProfiles: 1, LostOperations: 40, LastError: "the receiver answers 400 Bad Request"}
	check.Equal(t, "", want, p.PushStats())
	recordSome(tp, 1)
	if p.PushStats() != want || tp.Shutdown(t.Context()) != nil {
		t.Errorf("after Shutdown: %+v", p.PushStats())
	}
}

func TestPushConcurrentSafe(t *testing.T) {
	s := newReceiver(t, http.StatusOK)
	p := newProcessor(t, live.WithProfilePush(s.URL, time.Second))
	tp := provider(p)
	var wg sync.WaitGroup
	const workers, requests = 4, 100
	for range workers {
		wg.Go(func() {
			for range requests {
				recordSome(tp, 1)
				_ = p.PushStats()
			}
		})
	}
	wg.Go(func() { time.Sleep(1100 * time.Millisecond) }) // for the end of an interval
	wg.Wait()
	check.OK(t, tp.Shutdown(t.Context()))
	if got, want := p.PushStats().Operations, int64(4*workers*requests); got != want {
		t.Errorf("%d operations, want %d; %+v", got, want, p.PushStats())
	}
}
