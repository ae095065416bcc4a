package analyze

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

// Errors add up to the errors of operations and of groups, also with repeated records. Errors of spans are separate.
func TestErrorsAddUp(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		records := tracetest.RecordsOf(r, tracetest.RandomSpecs(r, 60))
		spans := int64(0)
		for i := range records {
			if s := records[i].Span; s != nil && r.IntN(3) == 0 {
				s.Failed = true
				s.Extra = tracetest.Pick(r, nil, &op.Extra{Message: "status 500"})
				spans++
			}
		}
		report := check.Must(Run(t.Context(), Records(recordtest.All(records...)),
			Options{By: tracetest.Keys("error")}))(t)
		operations := int64(0)
		groups := int64(0)
		for _, o := range report.Operations {
			operations += o.Errors
		}
		for _, g := range report.Groups {
			if groups += g.Errors; g.Key.Values[0].Known != (g.Errors > 0) || g.Errors > 0 && g.Errors != g.Count {
				t.Errorf("seed %d: the group %v has %d errors of %d operations", seed, g.Key, g.Errors, g.Count)
			}
		}
		sum := func(rows []profile.Error) (n int64) {
			for _, e := range rows {
				n += e.Count
			}
			return n
		}
		check.Equal(t, fmt.Sprintf("seed %d: errors", seed), operations, sum(report.Errors))
		check.Equal(t, fmt.Sprintf("seed %d: errors of groups", seed), operations, groups)
		if report.Input.Repeated.V == 0 {
			check.Equal(t, fmt.Sprintf("seed %d: errors of spans", seed), spans, sum(report.SpanErrors))
		}
	})
}

// A failed request counts once even if its record is repeated.
func TestErrorsOfRepeats(t *testing.T) {
	request := tracetest.SpanAt("POST /predict", 1, 0, 0, 50).Span()
	request.Failed = true
	operation := tracetest.OpAt("matmul", 2, 1, 0, 40).Entry()
	operation.Failed = true
	records := []op.Record{{Span: request}, {Entry: operation}, {Span: request}, {Entry: operation}}
	report := check.Must(Run(t.Context(), Records(recordtest.All(records...)), Options{}))(t)
	if report.SpanErrors[0].Count != 1 || report.Errors[0].Count != 1 {
		t.Errorf("errors %+v, of spans %+v", report.Errors, report.SpanErrors)
	}
}

// The finding names the most frequent error text over all operations.
func TestMostFrequentErrorIsOfAllOperations(t *testing.T) {
	var records []op.Record
	errors := map[string]int{"matmul": 4, "relu": 3, "softmax": 3}
	for name, text := range map[string]string{"matmul": "timeout", "relu": "out of memory",
		"softmax": "out of memory"} {
		for range errors[name] {
			e := tracetest.OpAt(name, uint64(len(records)+1), 0, int64(10*len(records)), 5).Entry()
			e.Failed = true
			e.Error = text
			records = append(records, op.Record{Entry: e})
		}
	}
	report := check.Must(Run(t.Context(), Records(recordtest.All(records...)), Options{}))(t)
	if text := report.Findings[0].Text; !strings.Contains(text, `most often "out of memory" (6)`) {
		t.Errorf("the first finding: %s", text)
	}
}
