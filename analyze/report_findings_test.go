package analyze

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
)

// FindingsOf returns the findings of the report on the same records.
func TestFindingsOf(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		records := plainRecords(tracetest.SuspiciousSpecs(r, 60))
		source := Records(recordtest.All(records...))
		report := check.Must(Run(t.Context(), source, Options{}))(t)
		forest, in, err := ReadForest(t.Context(), source, 1)
		check.OK(t, err)
		check.Equal(t, fmt.Sprintf("seed %d", seed), report.Findings, FindingsOf(forest, in))
	})
}
