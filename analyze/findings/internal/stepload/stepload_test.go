package stepload_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/findings/internal/stepload"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// The extra time of a first step is beside the median of at least three others of its service.
func TestTheExtraTimeOfAFirstStep(t *testing.T) {
	var rows []steps.Row
	for _, ns := range []int64{30, 10, 12, 11} {
		rows = append(rows, steps.Row{ToNextNS: op.Known(ns)})
	}
	ns, known := stepload.Extra(rows)
	check.Equal(t, "of four", int64(19), ns)
	check.Equal(t, "of four is known", true, known)
	_, known = stepload.Extra(rows[:3])
	check.Equal(t, "of three is known", false, known)
	rows[3].Service = "another"
	_, known = stepload.Extra(rows)
	check.Equal(t, "beside another service's is known", false, known)
}
