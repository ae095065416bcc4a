package observ_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

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
				spantest.HandleErrors(t, func(error) {
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
