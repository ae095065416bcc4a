package sketch

import (
	"math"
	"testing"
)

func TestFormIsChecked(t *testing.T) {
	last := int64(binOf(math.MaxInt64))
	for _, test := range []struct {
		name            string
		durations, bins []int64
		ok              bool
	}{
		{"nothing", nil, nil, true},
		{"durations", []int64{3, 1}, nil, true},
		{"a negative duration", []int64{-1}, nil, false},
		{"too many durations", make([]int64, MaxExact+1), nil, false},
		{"both", []int64{1}, []int64{0, 40}, false},
		{"a bin", nil, []int64{7, 40}, true},
		{"the last bin", nil, []int64{last, 40}, true},
		{"empty bins", nil, []int64{7, 40, -3, 1}, true},
		{"few durations", nil, []int64{7, MaxExact}, false},
		{"no count", nil, []int64{7}, false},
		{"a count of 0", nil, []int64{7, 40, 0, 1}, false},
		{"empty bins at the end", nil, []int64{7, 40, -1}, false},
		{"a bin in front", nil, []int64{-1, 40}, false},
		{"a bin behind", nil, []int64{last + 1, 40}, false},
		{"a bin far behind", nil, []int64{7, 40, math.MinInt64, 1}, false},
		{"one bin too many", nil, []int64{last, 40, 1}, false},
		{"too large a count", nil, []int64{7, maxCount, 1}, false},
	} {
		if _, err := Of(Form{test.durations, test.bins}); (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
