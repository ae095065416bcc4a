// Package units writes quantities for people: in a fitting unit, with three significant digits. Machines get base
// units; only renderers scale.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

type unit struct {
	name string
	size float64
}

var (
	times   = []unit{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}
	sizes   = []unit{{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"PiB", 1 << 50}}
	decimal = []unit{{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}}
	flops   = []unit{{"FLOP", 1}, {"kFLOP", 1e3}, {"MFLOP", 1e6}, {"GFLOP", 1e9}, {"TFLOP", 1e12}, {"PFLOP", 1e15},
		{"EFLOP", 1e18}}
)

// Duration writes nanoseconds: "600 ns", "1.50 µs", "2.35 s", "1 min 30 s", "2 h 5 min", "3 d 4 h".
func Duration(ns int64) string { return DurationFloat(float64(ns)) }

// DurationFloat is Duration for a mean or a percentile.
func DurationFloat(ns float64) string {
	if !finite(ns) || math.Abs(ns) < longFrom {
		return scale(ns, times)
	}
	return long(ns)
}

const longFrom = 59.95e9 // the shortest duration that rounds to a minute

// long writes a duration of a minute or more in two units, the second one whole.
func long(ns float64) string {
	sign := ""
	if ns < 0 {
		sign = "-"
		ns = -ns
	}
	pair := func(n, per float64, large, small string) string {
		return fmt.Sprintf("%s%.0f %s %.0f %s", sign, math.Floor(n/per), large, math.Mod(n, per), small)
	}
	if seconds := math.Round(ns / 1e9); seconds < 3600 {
		return pair(seconds, 60, "min", "s")
	}
	if minutes := math.Round(ns / 60e9); minutes < 24*60 {
		return pair(minutes, 60, "h", "min")
	}
	return pair(math.Round(ns/3600e9), 24, "d", "h")
}

// Bytes writes a size in binary units: "48 B", "1.50 KiB".
func Bytes(n int64) string { return scale(float64(n), sizes) }

// BytesPerSecond writes a bandwidth: "1.50 GiB/s".
func BytesPerSecond(rate float64) string { return scale(rate, sizes) + "/s" }

// PeakBytesPerSecond writes a bandwidth in the decimal units of data sheets: "3.35 TB/s".
func PeakBytesPerSecond(rate float64) string { return scale(rate, decimal) + "/s" }

// FLOPs writes a number of floating-point operations: "1.50 GFLOP".
func FLOPs(n int64) string { return scale(float64(n), flops) }

// FLOPsPerSecond writes a rate: "1.50 GFLOP/s".
func FLOPsPerSecond(rate float64) string {
	if !finite(rate) {
		return "-"
	}
	return scale(rate, flops) + "/s"
}

// Intensity writes a number of floating-point operations per byte: "24.0".
func Intensity(x float64) string {
	if !finite(x) {
		return "-"
	}
	return format(x, false)
}

// Count writes a number in full with separated thousands: "13,428,180".
func Count(n int64) string {
	digits, sign := strings.CutPrefix(strconv.FormatInt(n, 10), "-")
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if sign {
		return "-" + digits
	}
	return digits
}

// Plural writes a number and a noun: "1 span", "2 spans", "3 batches", "4 entries".
func Plural(n int64, noun string) string {
	switch stem, ends := strings.CutSuffix(noun, "y"); {
	case n == 1:
		return "1 " + noun
	case ends && !strings.HasSuffix(stem, "a"): // replays
		noun = stem + "ies"
	case strings.HasSuffix(noun, "ch"):
		noun += "es"
	default:
		noun += "s"
	}
	return Count(n) + " " + noun
}

// Verb returns the verb for n things.
func Verb(n int64, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// Percent writes a share: 0.125 becomes "12.5 %".
func Percent(share float64) string {
	if !finite(share) {
		return "-"
	}
	return strconv.FormatFloat(share*100, 'f', 1, 64) + " %"
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// scale writes v in the first unit in which the rounded number is less than the next unit: 999.9996 µs is "1.00 ms",
// not "1000 µs".
func scale(v float64, units []unit) string {
	if !finite(v) {
		return "-"
	}
	last := len(units) - 1
	for i, u := range units[:last] {
		if scaled := v / u.size; math.Abs(round3(scaled))*u.size < units[i+1].size {
			return format(scaled, i == 0) + " " + u.name
		}
	}
	return format(v/units[last].size, last == 0) + " " + units[last].name
}

func round3(v float64) float64 {
	digits := decimals(v)
	p := math.Pow10(digits)
	return math.Round(v*p) / p
}

// decimals returns the number of decimals for three significant digits.
func decimals(v float64) int {
	switch v = math.Abs(v); {
	case v < 9.995:
		return 2
	case v < 99.95:
		return 1
	}
	return 0
}

// format writes v with three significant digits. Whole numbers of a base unit have no decimals.
func format(v float64, base bool) string {
	if base && v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', decimals(v), 64)
}

// ParseBytes reads a number of bytes with an optional unit: 4096, 64K, 1.5M, 2GiB. Units are powers of 1024.
func ParseBytes(text string) (int64, error) {
	number := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	size := int64(1)
	if i := len(number) - 1; i >= 0 {
		if power := strings.IndexByte("KMGT", number[i]); power >= 0 {
			number = number[:i]
			size = 1 << (10 * (power + 1))
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(n >= 0) || n*float64(size) >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a number of bytes such as 64M or 1.5G", text)
	}
	return int64(n * float64(size)), nil
}

// rates are the units of a rate, in bytes per second.
var rates = []struct {
	unit string
	size float64
}{{"TB/s", 1e12}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"", 1}}

// ParseRate reads a rate such as 25GB/s or 25e9.
func ParseRate(text string) (float64, error) {
	for _, r := range rates {
		if number, ok := strings.CutSuffix(text, r.unit); ok {
			if rate, err := strconv.ParseFloat(number, 64); err == nil && rate > 0 && rate < 1e18 {
				return rate * r.size, nil
			}
		}
	}
	return 0, fmt.Errorf("%q is no rate such as 25GB/s", text)
}
