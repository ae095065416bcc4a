package observ_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.uber.org/goleak"

	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

// TestMain fails where a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// At most one error is reported in ten seconds; the next one says how many were not, and is still the error.
func TestErrorsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := spantest.Errors(t)
		errDisk := errors.New("disk full")
		var r observ.Errors
		for i, at := range []struct {
			pause time.Duration
			want  string // reported so far
		}{
			{0, "disk full 0"}, {0, "disk full 0"}, {10*time.Second - 1, "disk full 0"},
			{1, "disk full 0\ndisk full 3 (and 2 more errors since the last report)"},
			{10 * time.Second, "disk full 0\ndisk full 3 (and 2 more errors since the last report)\ndisk full 4"},
		} {
			time.Sleep(at.pause)
			r.Report(nil) // a nil error is neither reported nor counted
			r.Report(fmt.Errorf("%w %d", errDisk, i))
			synctest.Wait()
			check.Equal(t, "errors", at.want, errors.Join(got()...).Error())
		}
		for _, err := range got() {
			check.Is(t, "", errDisk, err)
		}
	})
}

// A panicking handler does no harm, and a blocking one is not called again.
func TestErrorsHandler(t *testing.T) {
	for name, tt := range map[string]struct {
		handle func(release <-chan struct{})
		want   int64 // calls before the release
	}{
		"returns": {func(<-chan struct{}) {}, 3}, "panics": {func(<-chan struct{}) { panic("handler") }, 3},
		"blocks": {func(release <-chan struct{}) { <-release }, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			var calls atomic.Int64
			spantest.HandleErrors(t, func(error) {
				calls.Add(1)
				tt.handle(release)
			})
			var r observ.Errors
			report := func() {
				r.Report(errors.New("disk full"))
				synctest.Wait()
				time.Sleep(time.Minute)
			}
			for range 3 {
				report()
			}
			check.Equal(t, name+": calls", tt.want, calls.Load())
			close(release)
			synctest.Wait()
			report()
			check.Equal(t, name+": calls after the release", tt.want+1, calls.Load())
		})
	}
}

// Every error is reported, or counted by a later report. At its end a program waits for its last error, but not for a
// hanging handler.
func TestAwaitErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			name        string
			takes, want time.Duration // of the handler, of Await at most
		}{
			{"none", 0, 0}, {"quick", 5 * time.Millisecond, 6 * time.Millisecond},
			{"hanging", time.Hour, 101 * time.Millisecond},
		} {
			spantest.HandleErrors(t, func(error) { time.Sleep(tt.takes) })
			if tt.takes > 0 {
				new(observ.Errors).Report(errors.New("disk full"))
			}
			start := time.Now()
			observ.Await(t.Context())
			if took := time.Since(start); took > tt.want || took < min(tt.takes, 100*time.Millisecond) {
				t.Errorf("%s: waited %v", tt.name, took)
			}
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestErrorsConcurrentSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := spantest.Errors(t)
		var r observ.Errors
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 100 {
					r.Report(errors.New("full"))
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		time.Sleep(time.Minute)
		r.Report(errors.New("full"))
		synctest.Wait()
		n := 0
		for _, told := range got() {
			var more int
			if _, err := fmt.Sscanf(told.Error(), "full (and %d more errors since the last report)",
				&more); err != nil && told.Error() != "full" {
				t.Errorf("%q: %v", told, err)
			}
			n += 1 + more
		}
		check.Equal(t, "errors that are accounted for", 401, n)
	})
}

const variable = "OTEL_GO_X_OBSERVABILITY"

var scope = instrumentation.Scope{Name: "example.com/tensors", Version: "1.2.3"}

// observe returns a check of all metrics of the scope.
func observe(t *testing.T) (verify func(want map[string]float64)) {
	t.Helper()
	read := spantest.Metrics(t, scope)
	return func(want map[string]float64) {
		t.Helper()
		values, _ := read()
		check.Equal(t, "metrics", want, values)
	}
}

// typed is an error with a type for metrics.
type typed struct{}

func (typed) Error() string     { return "closed" }
func (typed) ErrorType() string { return "already_shutdown" }

func TestExporter(t *testing.T) {
	const (
		inflight = "otel.sdk.exporter.span.inflight"
		exported = "otel.sdk.exporter.span.exported"
		duration = "otel.sdk.exporter.operation.duration"
	)
	for _, tt := range []struct {
		name     string
		exported int
		err      error
		want     map[string]float64
	}{
		{"success", 5, nil, map[string]float64{inflight: 0, exported: 5, duration: 1, duration + " sum": 2}},
		{"part of a batch", 2, errors.New("disk full"), map[string]float64{
			inflight: 0, exported: 2, exported + " write_failed": 3,
			duration + " write_failed": 1, duration + " sum write_failed": 2,
		}},
		{"typed error", 0, fmt.Errorf("export: %w", typed{}), map[string]float64{
			inflight: 0, exported: 0, exported + " already_shutdown": 5,
			duration + " already_shutdown": 1, duration + " sum already_shutdown": 2,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(variable, "True")
			synctest.Test(t, func(t *testing.T) {
				verify := observe(t)
				e := observ.NewExporter(scope)
				end := e.Export(5)
				verify(map[string]float64{inflight: 5})
				time.Sleep(2 * time.Second)
				end(tt.exported, tt.err)
				verify(tt.want)
			})
		})
	}
}

func TestProcessor(t *testing.T) {
	t.Setenv(variable, "true")
	verify := observe(t)
	counts := observ.Counts{}
	stop := observ.ObserveProcessor(scope, func() observ.Counts { return counts })
	for _, tt := range []struct {
		counts                observ.Counts
		queue, written, drops float64
	}{
		{observ.Counts{}, 0, 0, 0},
		{observ.Counts{Recorded: 10, Forgotten: 7, Unsummed: 8, LostParents: 9}, 10, 0, 0},
		{observ.Counts{Recorded: 10, Exported: 6, Lost: 1}, 3, 6, 1},
		{observ.Counts{Recorded: 10, Exported: 6, Lost: 4}, 0, 6, 4},
	} {
		counts = tt.counts
		verify(map[string]float64{
			"otel.sdk.processor.span.queue.size":           tt.queue,
			"otel.sdk.processor.span.processed":            tt.written,
			"otel.sdk.processor.span.processed queue_full": tt.drops,
			"optrace.processor.span.forgotten":             float64(tt.counts.Forgotten),
			"optrace.processor.operation.unsummed":         float64(tt.counts.Unsummed),
			"optrace.processor.parent.lost":                float64(tt.counts.LostParents),
		})
	}
	check.OK(t, stop())
	verify(map[string]float64{})
}

// The metrics of two components of one type can be told apart.
func TestComponentNames(t *testing.T) {
	t.Setenv(variable, "true")
	read := spantest.Metrics(t, scope)
	for range 2 {
		observ.NewExporter(scope).Export(1)(1, nil)
		stop := observ.ObserveProcessor(scope, func() observ.Counts { return observ.Counts{} })
		t.Cleanup(func() { _ = stop() })
	}
	_, components := read()
	check.Equal(t, "components of both types", 4, len(components))
}

func TestMetricsOff(t *testing.T) {
	for _, value := range []string{"", "1", "false", "yes"} {
		t.Run(value, func(t *testing.T) {
			t.Setenv(variable, value)
			verify := observe(t)
			e := observ.NewExporter(scope)
			stop := observ.ObserveProcessor(scope,
				func() observ.Counts { t.Error("counts are asked for"); return observ.Counts{} })
			if e != nil {
				t.Errorf("exporter %v, want none", e)
			}
			e.Export(1)(0, errors.New("disk full"))
			verify(map[string]float64{})
			check.OK(t, stop())
		})
	}
}

// faulty is a MeterProvider without up-down instruments, and silent one that registers no callback.
type (
	faulty struct{ noop.MeterProvider }
	silent struct{ noop.MeterProvider }
)

func (faulty) Meter(string, ...metric.MeterOption) metric.Meter { return faultyMeter{} }
func (silent) Meter(string, ...metric.MeterOption) metric.Meter { return silentMeter{} }

type (
	faultyMeter struct{ noop.Meter }
	silentMeter struct{ noop.Meter }
)

var errInstrument = errors.New("no such instrument")

func (faultyMeter) Int64UpDownCounter(string, ...metric.Int64UpDownCounterOption) (metric.Int64UpDownCounter, error) {
	return nil, errInstrument
}

func (faultyMeter) Int64ObservableUpDownCounter(
	string, ...metric.Int64ObservableUpDownCounterOption,
) (metric.Int64ObservableUpDownCounter, error) {
	return nil, errInstrument
}

func (silentMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return nil, nil
}

func TestInstrumentsThatCannotBeMade(t *testing.T) {
	t.Setenv(variable, "true")
	errs := spantest.Errors(t)
	before := otel.GetMeterProvider()
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	for _, provider := range []metric.MeterProvider{faulty{}, silent{}} {
		otel.SetMeterProvider(provider)
		observ.NewExporter(scope).Export(3)(1, errInstrument)
		check.OK(t, observ.ObserveProcessor(scope, func() observ.Counts { return observ.Counts{} })())
	}
	const want = "optrace: making instruments: no such instrument" // of faulty
	check.Equal(t, "errors", want+"\n"+want, errors.Join(errs()...).Error())
}
