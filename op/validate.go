package op

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// Validate reports every invariant that the entry violates, joined; nil for an
// entry as readers and builders make it.
func (e *Entry) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(e.Operation != "", "operation is empty")
	for _, text := range []struct{ name, v string }{
		{"operation", e.Operation}, {"path", e.Path}, {"device_id", e.DeviceID}, {"dtype", string(e.DType)},
		{"error", e.Error}, {"root", e.Root}, {"service", e.Service}, {"scope", e.Scope},
	} {
		check(utf8.ValidString(text.v), "%s is not UTF-8: %q", text.name, text.v)
	}
	check(e.Duration >= 0, "duration is negative: %d ns", e.Duration)
	check(e.Start.V <= math.MaxInt64-max(0, e.Duration), "the end does not fit: start %d, duration %d ns", e.Start.V, e.Duration)
	check(e.Kind.String() != "", "kind %d is none", e.Kind)
	checkShape(check, "output_shape", e.OutputShape)
	check(len(e.InputShapes) <= MaxInputs, "more than %d input shapes", MaxInputs)
	for i, s := range e.InputShapes {
		checkShape(check, fmt.Sprintf("input_shapes[%d]", i), s)
	}
	for _, n := range []struct {
		name string
		v    Int
	}{
		{"output_elements", e.OutputElements}, {"memory_bytes", e.MemoryBytes}, {"flops", e.FLOPs}, {"rank", e.Rank},
	} {
		check(n.v.V >= 0, "%s is negative: %d", n.name, n.v.V)
		check(n.v.Known || n.v.V == 0, "%s is unknown but not 0: %d", n.name, n.v.V)
	}
	check(e.Failed || e.Error == "", "an error, but not failed: %q", e.Error)
	count := e.AdjustedCount
	check(count == 0 || count >= 1 && !math.IsInf(count, 1), "adjusted_count is %g", count)
	check(!e.TraceID.IsZero() || e.ParentSpanID.IsZero() || e.Warn&WarnBadID != 0, "a parent without a trace")
	check(e.Warn < warnEnd, "unknown warnings: %#x", uint32(e.Warn))
	return errors.Join(errs...)
}

func checkShape(check func(bool, string, ...any), name string, s Shape) {
	check(len(s) <= MaxRank, "%s has more than %d dimensions", name, MaxRank)
	for _, d := range s {
		check(d >= Dynamic, "%s has a dimension of %d", name, d)
	}
}
