package measure

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

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
		t.Errorf("error %v does not hold what the program says", err)
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{
		{nil, math.NaN()},
		{[]float64{3}, 3},
		{[]float64{4, 2}, 3},
		{[]float64{9, 1, 5}, 5},
		{[]float64{1, 100, 2, 3}, 2.5},
	} {
		before := append([]float64(nil), tt.values...)
		check.Equal(t, fmt.Sprintf("Median(%v)", tt.values), tt.want, Median(tt.values), cmpopts.EquateNaNs())
		check.Equal(t, "the argument of Median", before, tt.values, cmpopts.EquateEmpty())
	}
}
