package units

import (
	"math"
	"testing"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "4096": 4096, "64K": 64 << 10, "64k": 64 << 10, "1.5M": 3 << 19, "2GiB": 2 << 30,
		"2gb": 2 << 30, "1 T": 1 << 40,
		"8388607T": 8388607 << 40, "12B": 12, "0.5G": 512 << 20,
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
