package op

import (
	"errors"
	"fmt"
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
	check(utf8.ValidString(e.Operation) && utf8.ValidString(e.DeviceID), "operation or device_id is not UTF-8")
	check(e.Duration >= 0, "duration is negative: %d ns", e.Duration)
	check(e.Kind != KindUnknown && e.Kind.String() != "", "kind %d is not classified", e.Kind)
	checkShape(check, "output_shape", e.OutputShape)
	check(len(e.InputShapes) <= MaxInputs, "more than %d input shapes", MaxInputs)
	for i, s := range e.InputShapes {
		checkShape(check, fmt.Sprintf("input_shapes[%d]", i), s)
	}
	for _, n := range []struct {
		name string
		v    Int
	}{{"output_elements", e.OutputElements}, {"memory_bytes", e.MemoryBytes}, {"flops", e.FLOPs}, {"rank", e.Rank}} {
		check(n.v.V >= 0, "%s is negative: %d", n.name, n.v.V)
		check(n.v.Known || n.v.V == 0, "%s is unknown but not 0", n.name)
	}
	check(e.Failed || e.Error == "", "error without failed")
	check(e.AdjustedCount == 0 || e.AdjustedCount >= 1, "adjusted_count is below 1: %g", e.AdjustedCount)
	check(!e.TraceID.IsZero() || e.ParentSpanID.IsZero() || e.Warn&WarnBadID != 0, "a parent without a trace")
	return errors.Join(errs...)
}

func checkShape(check func(bool, string, ...any), name string, s Shape) {
	check(len(s) <= MaxRank, "%s has more than %d dimensions", name, MaxRank)
	for _, d := range s {
		check(d >= Dynamic, "%s has a dimension of %d", name, d)
	}
}
