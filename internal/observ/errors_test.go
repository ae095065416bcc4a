package observ_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/observ"
)

func setHandler(t *testing.T, handle func(error)) {
	t.Helper()
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(handle))
	t.Cleanup(func() { otel.SetErrorHandler(before) })
}

// handled collects what goes to OpenTelemetry's error handler during a test.
func handled(t *testing.T) func() []string {
	t.Helper()
	var mu sync.Mutex
	var got []string
	setHandler(t, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, err.Error())
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}
}

// At most one error is reported in ten seconds; the next one says how many were
// not.
func TestErrorsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := handled(t)
		var r observ.Errors
		for i, at := range []struct {
			pause time.Duration
			want  []string // reported so far
		}{
			{0, []string{"error 0"}},
			{0, []string{"error 0"}},
			{10*time.Second - 1, []string{"error 0"}},
			{1, []string{"error 0", "error 3 (and 2 more errors since the last report)"}},
			{10 * time.Second, []string{"error 0", "error 3 (and 2 more errors since the last report)", "error 4"}},
		} {
			time.Sleep(at.pause)
			r.Report(nil) // reports nothing, and is not counted
			r.Report(fmt.Errorf("error %d", i))
			synctest.Wait()
			check.Equal(t, "errors", at.want, got())
		}
	})
}

// An error that is reported with a count is still the error.
func TestErrorsWrap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errDisk := errors.New("disk full")
		n := 0
		setHandler(t, func(err error) {
			check.Is(t, "", errDisk, err)
			n++
		})
		var r observ.Errors
		r.Report(errDisk)
		r.Report(errDisk)
		time.Sleep(time.Minute)
		r.Report(errDisk)
		synctest.Wait()
		check.Equal(t, "reports", 2, n)
	})
}

// A handler that panics does no harm, and one that blocks is not called again.
func TestErrorsHandler(t *testing.T) {
	for _, tt := range []struct {
		name   string
		handle func(release <-chan struct{})
		want   int // calls before the release
	}{
		{"returns", func(<-chan struct{}) {}, 3},
		{"panics", func(<-chan struct{}) { panic("handler") }, 3},
		{"blocks", func(release <-chan struct{}) { <-release }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				var mu sync.Mutex
				calls := 0
				setHandler(t, func(error) {
					mu.Lock()
					calls++
					mu.Unlock()
					tt.handle(release)
				})
				var r observ.Errors
				verify := func(want int) {
					t.Helper()
					synctest.Wait()
					mu.Lock()
					defer mu.Unlock()
					check.Equal(t, "the handler was called: times", want, calls)
				}
				report := func() {
					r.Report(errors.New("disk full"))
					synctest.Wait()
					time.Sleep(time.Minute)
				}
				for range 3 {
					report()
				}
				verify(tt.want)
				close(release)
				synctest.Wait()
				report()
				verify(tt.want + 1)
			})
		})
	}
}

// Every error is reported or counted by a later report.
func TestErrorsConcurrentSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := handled(t)
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
		for _, text := range got() {
			var more int
			if _, err := fmt.Sscanf(text, "full (and %d more errors since the last report)", &more); err != nil && text != "full" {
				t.Errorf("%q: %v", text, err)
			}
			n += 1 + more
		}
		if n != 401 {
			t.Errorf("%d errors are accounted for, want 401: %q", n, got())
		}
	})
}
