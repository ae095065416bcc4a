package units

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
)

func TestUnits(t *testing.T) {
	ofInteger := map[string]func(int64) string{"Duration": Duration, "Bytes": Bytes, "FLOPs": FLOPs, "Count": Count}
	ofFloat := map[string]func(float64) string{
		"DurationFloat": DurationFloat, "FLOPsPerSecond": FLOPsPerSecond, "BytesPerSecond": BytesPerSecond,
		"PeakBytesPerSecond": PeakBytesPerSecond, "Intensity": Intensity, "Percent": Percent,
	}
	golden.Lines(t, "testdata/units.txt", func(line string) string {
		name, text, _ := strings.Cut(line, " ")
		if f := ofFloat[name]; f != nil {
			return f(check.Must(strconv.ParseFloat(text, 64))(t))
		}
		text, noun, _ := strings.Cut(text, " ")
		n := check.Must(strconv.ParseInt(text, 10, 64))(t)
		if name == "Plural" {
			return Plural(n, noun)
		}
		return ofInteger[name](n)
	})
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
