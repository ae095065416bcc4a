package measure

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace/internal/testing/check"
)

func TestTimed(t *testing.T) {
	var kept [][]byte
	s := check.Must(Timed(100, func() error {
		for range 100 {
			kept = append(kept, make([]byte, 64))
		}
		for start := time.Now(); time.Since(start) < 5*time.Millisecond; {
		}
		return nil
	}))(t)
	if len(kept) != 100 || s.N != 100 || s.Allocs < 100 || s.Allocs > 1000 {
		t.Errorf("%d allocations of %d units", s.Allocs, s.N)
	}
	if s.Wall < 5*time.Millisecond || s.CPU <= 0 {
		t.Errorf("CPU %v, wall %v", s.CPU, s.Wall)
	}
}

func TestCommand(t *testing.T) {
	s, out, err := Command(context.Background(), 3, "go", "env", "GOOS")
	check.OK(t, err)
	if s.N != 3 || s.Wall <= 0 || s.CPU <= 0 || len(out) == 0 {
		t.Errorf("%+v and %q", s, out)
	}
	_, _, err = Command(context.Background(), 1, "go", "no-such-command")
	if err == nil || !strings.Contains(err.Error(), "no-such-command") {
		t.Errorf("error %v lacks the message of the program", err)
	}
}

func TestMedian(t *testing.T) {
	check.Equal(t, "of none", true, math.IsNaN(Median(nil)))
	check.Equal(t, "of an even number", 2.5, Median([]float64{1, 100, 2, 3}))
	check.Equal(t, "of an odd number", 5, Median([]float64{9, 1, 5}))
}
