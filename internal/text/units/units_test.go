package units

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

func TestUnits(t *testing.T) {
	for _, test := range [][2]string{ // the result and the expected text
		{Duration(0), "0 ns"}, {Duration(1), "1 ns"}, {Duration(600), "600 ns"}, {Duration(999), "999 ns"},
		{Duration(1000), "1.00 µs"}, {Duration(1500), "1.50 µs"}, {Duration(9994), "9.99 µs"},
		{Duration(9995), "10.0 µs"}, {Duration(99_949), "99.9 µs"}, {Duration(99_950), "100 µs"},
		{Duration(999_499), "999 µs"}, {Duration(999_500), "1.00 ms"}, {Duration(1_000_000), "1.00 ms"},
		{Duration(999_499_999), "999 ms"}, {Duration(999_500_000), "1.00 s"},
		{Duration(59_949_999_999), "59.9 s"}, {Duration(59_950_000_000), "1 min 0 s"},
		{Duration(90_000_000_000), "1 min 30 s"}, {Duration(3_599_499_999_999), "59 min 59 s"},
		{Duration(3_599_500_000_000), "1 h 0 min"}, {Duration(5_400_000_000_000), "1 h 30 min"},
		{Duration(86_369_999_999_999), "23 h 59 min"}, {Duration(86_370_000_000_000), "1 d 0 h"},
		{Duration(180_000_000_000_000), "2 d 2 h"}, {Duration(-5_400_000_000_000), "-1 h 30 min"},
		{Duration(-1500), "-1.50 µs"}, {Duration(math.MaxInt64), "106752 d 0 h"},
		{DurationFloat(0.5), "0.50 ns"}, {DurationFloat(1234.5), "1.23 µs"},
		{DurationFloat(7.5e10), "1 min 15 s"}, {DurationFloat(math.NaN()), "-"},
		{DurationFloat(math.Inf(1)), "-"}, {Bytes(0), "0 B"}, {Bytes(48), "48 B"}, {Bytes(1023), "1023 B"},
		{Bytes(1024), "1.00 KiB"}, {Bytes(1536), "1.50 KiB"}, {Bytes(1<<20 - 1), "1.00 MiB"},
		{Bytes(1 << 20), "1.00 MiB"}, {Bytes(1<<20 - 600), "1023 KiB"}, {Bytes(5 << 30), "5.00 GiB"},
		{Bytes(math.MaxInt64), "8192 PiB"}, {FLOPs(1_500_000_000), "1.50 GFLOP"},
		{FLOPsPerSecond(9.895e14), "990 TFLOP/s"}, {FLOPsPerSecond(math.Inf(1)), "-"},
		{BytesPerSecond(1.5 * (1 << 30)), "1.50 GiB/s"}, {PeakBytesPerSecond(3.35e12), "3.35 TB/s"},
		{Intensity(0.1249), "0.12"}, {Intensity(24), "24.0"}, {Intensity(math.NaN()), "-"}, {Count(0), "0"},
		{Count(999), "999"}, {Count(1000), "1,000"}, {Count(13428180), "13,428,180"},
		{Count(-1234567), "-1,234,567"}, {Count(math.MinInt64), "-9,223,372,036,854,775,808"},
		{Plural(1, "entry"), "1 entry"}, {Plural(0, "entry"), "0 entries"},
		{Plural(1234, "batch"), "1,234 batches"}, {Plural(2, "span"), "2 spans"},
		{Plural(2, "graph replay"), "2 graph replays"}, {Percent(0.125), "12.5 %"},
		{Percent(math.NaN()), "-"},
	} {
		check.Equal(t, "", test[1], test[0])
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

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "4096": 4096, "64K": 64 << 10, "64k": 64 << 10, "1.5M": 3 << 19, "2GiB": 2 << 30,
		"2gb": 2 << 30, "1 T": 1 << 40, "8388607T": 8388607 << 40, "12B": 12, "0.5G": 512 << 20,
	} {
		if got, err := ParseBytes(text); got != want || err != nil {
			t.Errorf("ParseBytes(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "G", "-1", "1X", "1KK", "NaN", "Inf", "1e300", "8388608T", "one"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("ParseBytes(%q) = %d", text, got)
		}
	}
	if n, err := ParseBytes("9223372036854775807"); err == nil || n == math.MaxInt64 {
		t.Errorf("%d, %v", n, err)
	}
}
