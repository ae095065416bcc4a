package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/check"
)

func TestDuration(t *testing.T) {
	for _, test := range []struct {
		ns   int64
		want string
	}{
		{0, "0 ns"}, {1, "1 ns"}, {600, "600 ns"}, {999, "999 ns"},
		{1000, "1.00 µs"}, {1500, "1.50 µs"}, {9994, "9.99 µs"}, {9995, "10.0 µs"},
		{99_949, "99.9 µs"}, {99_950, "100 µs"}, {999_499, "999 µs"},
		{999_500, "1.00 ms"}, {1_000_000, "1.00 ms"}, {999_499_999, "999 ms"}, {999_500_000, "1.00 s"},
		{59_949_999_999, "59.9 s"}, {59_950_000_000, "1 min 0 s"}, {90_000_000_000, "1 min 30 s"}, {3_599_499_999_999, "59 min 59 s"},
		{3_599_500_000_000, "1 h 0 min"}, {5_400_000_000_000, "1 h 30 min"}, {86_369_999_999_999, "23 h 59 min"}, {86_370_000_000_000, "1 d 0 h"},
		{180_000_000_000_000, "2 d 2 h"}, {-5_400_000_000_000, "-1 h 30 min"}, {-1500, "-1.50 µs"}, {math.MaxInt64, "106752 d 0 h"},
	} {
		check.Equal(t, fmt.Sprintf("Duration(%d)", test.ns), test.want, Duration(test.ns))
	}
}

func TestDurationFloat(t *testing.T) {
	for ns, want := range map[float64]string{0.5: "0.50 ns", 1234.5: "1.23 µs", 7.5e10: "1 min 15 s", math.NaN(): "-", math.Inf(1): "-"} {
		check.Equal(t, fmt.Sprintf("DurationFloat(%v)", ns), want, DurationFloat(ns))
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 48: "48 B", 1023: "1023 B", 1024: "1.00 KiB", 1536: "1.50 KiB",
		1<<20 - 1: "1.00 MiB", 1 << 20: "1.00 MiB", 1<<20 - 600: "1023 KiB", 5 << 30: "5.00 GiB", math.MaxInt64: "8192 PiB",
	} {
		check.Equal(t, fmt.Sprintf("Bytes(%d)", n), want, Bytes(n))
	}
}

func TestOthers(t *testing.T) {
	for got, want := range map[string]string{
		FLOPs(1_500_000_000): "1.50 GFLOP", BytesPerSecond(1.5 * (1 << 30)): "1.50 GiB/s",
		FLOPsPerSecond(9.895e14): "990 TFLOP/s", FLOPsPerSecond(math.Inf(1)): "-", PeakBytesPerSecond(3.35e12): "3.35 TB/s",
		Intensity(0.1249): "0.12", Intensity(24): "24.0", Intensity(math.NaN()): "-",
		Count(0): "0", Count(999): "999", Count(1000): "1,000", Count(13428180): "13,428,180", Count(-1234567): "-1,234,567",
		Count(math.MinInt64): "-9,223,372,036,854,775,808",
		Plural(1, "entry"):   "1 entry", Plural(0, "entry"): "0 entries", Plural(1234, "batch"): "1,234 batches", Plural(2, "span"): "2 spans",
		Percent(0.125): "12.5 %", Percent(math.NaN()): "-",
	} {
		check.Equal(t, "", want, got)
	}
}

// Around every threshold no number reaches the next unit.
func TestScaleNeverReachesTheNextUnit(t *testing.T) {
	for _, list := range [][]unit{times, sizes, decimal, flops} {
		for i := 1; i < len(list); i++ {
			limit := list[i].size / list[i-1].size
			for step := -3000; step <= 3000; step++ {
				v := list[i].size * (1 + float64(step)/1e6)
				number, name, _ := strings.Cut(scale(v, list), " ")
				f := check.Must(strconv.ParseFloat(number, 64))(t)
				if name == list[i-1].name && f >= limit {
					t.Fatalf("scale(%v) = %s %s", v, number, name)
				}
			}
		}
	}
}
