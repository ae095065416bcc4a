package findings_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/causes"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

func found(t *testing.T, records ...op.Record) []findings.Finding {
	t.Helper()
	source := analyze.Records(recordtest.All(records...))
	return check.Must(analyze.Run(t.Context(), source, analyze.Options{Workers: 1}))(t).Findings
}

// isNamed reports whether the first finding after the bound is the cause.
func isNamed(all []findings.Finding, c *causes.Cause) bool {
	all = slices.DeleteFunc(slices.Clone(all), func(f findings.Finding) bool { return f.Kind == findings.Bound })
	return len(all) > 0 && string(all[0].Kind) == c.Finding && strings.Contains(all[0].Text, c.Says)
}

// From the strength stated in docs/analyses.md on, the first finding names the cause in nine of ten runs.
func TestFirstFindingNamesTheCause(t *testing.T) {
	seeds := cases.Count(t, 2, 40)
	for i := range causes.Causes {
		c := &causes.Causes[i]
		t.Run(c.Name, func(t *testing.T) {
			for _, strength := range []float64{c.From, 2 * c.From, 4 * c.From} {
				named := 0
				for seed := range seeds {
					all := found(t, check.Must(causes.Records(c.Name, strength, uint64(seed)))(t)...)
					if isNamed(all, c) {
						named++
						continue
					}
					for _, f := range all {
						t.Log(strength, seed, f.Kind, f.SavedNS, f.Text)
					}
				}
				if 10*named < 9*seeds {
					t.Errorf("strength %g: named in %d of %d runs", strength, named, seeds)
				}
			}
		})
	}
}

// docs/analyses.md states the strengths.
func TestDocumentedStrengths(t *testing.T) {
	text := check.Must(os.ReadFile("../../docs/analyses.md"))(t)
	for _, c := range causes.Causes {
		line := fmt.Sprintf("\n    %-16s %-17s %g ", c.Name, c.Finding, c.From)
		if !strings.Contains(string(text), line) {
			t.Errorf("docs/analyses.md lacks %q", line)
		}
	}
}

// In a hundred runs without a cause, at most two name a device or a request.
func TestFewClaimsWithoutACause(t *testing.T) {
	_, err := causes.Records("magic", 1, 1)
	check.Says(t, "", `there is no cause "magic"`, err)
	runs := cases.Count(t, 10, 100)
	claims := 0
	comparisons := []findings.Kind{findings.Straggler, findings.Imbalance, findings.SlowRequest}
	for seed := range runs {
		workload := []string{causes.Training, causes.Serving}[seed%2]
		for _, f := range found(t, check.Must(causes.Records(workload, 0, uint64(seed)))(t)...) {
			if slices.Contains(comparisons, f.Kind) {
				t.Log(seed, f.Text)
				claims++
			}
		}
	}
	if claims > max(1, runs/50) {
		t.Errorf("%d claims in %d runs", claims, runs)
	}
}

// The first of several calls is start-up if it takes nine tenths of their time.
func TestSlowFirstCallIsStartUp(t *testing.T) {
	for _, test := range []struct {
		name  string
		calls []int64 // durations on the host, an operation of the device behind each
		want  findings.Kind
		says  string
	}{
		{
			"the first", []int64{9_000, 500, 500}, findings.FirstStep,
			"The first of 3 calls of load took 10.0 µs (76.9 %) on the host",
		},
		{"not quite", []int64{8_900, 600, 500}, findings.HostGap, "while the host ran load for 10.0 µs"},
		{"another than the first", []int64{500, 9_000, 500}, findings.HostGap, "while the host ran load for 10.0 µs"},
		{"one call", []int64{10_000}, findings.HostGap, "while the host ran load for 10.0 µs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var records []op.Record
			at := int64(1_000_000)
			for _, ns := range test.calls {
				records = append(records, tracetest.OpAt("load", 0, 0, at, at+ns).On("").FromHost().Record(),
					tracetest.OpAt("matmul", 0, 0, at+ns, at+ns+1_000).Record())
				at += ns + 1_000
			}
			if f := found(t, records...)[1]; f.Kind != test.want || !strings.Contains(f.Text, test.says) {
				t.Errorf("%s: %q, want %s: %q", f.Kind, f.Text, test.want, test.says)
			}
		})
	}
}

// Idle time names the host calls that cover a tenth of it or more.
func TestIdleTimeNamesHostCalls(t *testing.T) {
	loader := "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
	all := found(t,
		tracetest.OpAt("matmul", 0, 0, 1_000_000, 1_001_000).Record(),
		tracetest.OpAt("relu", 0, 0, 1_011_000, 1_012_000).Record(),
		op.Record{Call: &op.Entry{Operation: loader, Start: op.Known(1_001_000), Duration: 7_000}},
		op.Record{Call: &op.Entry{Operation: "cudaFree", Start: op.Known(1_008_000), Duration: 2_500}},
		op.Record{Call: &op.Entry{Operation: "cudaMalloc", Start: op.Known(1_010_500), Duration: 400}},
	)
	const want = "it was in enumerate(DataLoader)#_SinglePr…derIter.__next__ for 7.00 µs, in cudaFree for 2.50 µs; the longest"
	if !slices.ContainsFunc(all, func(f findings.Finding) bool { return strings.Contains(f.Text, want) }) {
		t.Errorf("%+v, want %q", all, want)
	}
}
