package sink

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/optrace/optrace/internal/testing/check"
)

func TestAwait(t *testing.T) {
	errWork := errors.New("work")
	for _, tt := range []struct {
		name           string
		timeout, takes time.Duration
		want           error
	}{
		{"in time", time.Second, time.Millisecond, errWork},
		{"in the grace", time.Second, 1050 * time.Millisecond, errWork},
		{"done before", 0, 50 * time.Millisecond, errWork},
		{"too late", time.Second, time.Minute, context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()
				err := Await(ctx, 100*time.Millisecond, func() error { time.Sleep(tt.takes); return errWork })
				check.Is(t, "", tt.want, err)
				time.Sleep(tt.takes)
			})
		})
	}
}
