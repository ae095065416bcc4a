package diff_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/internal/testing/check"
)

// Files compares recordings and saved reports, grouped by keys. Errors name the run.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	keys := check.Must(key.Parse("operation,device"))(t)
	sim := tracetest.Simulation{Names: six, Steps: 20, Within: 0.1}
	rng := rand.New(rand.NewPCG(1, 5))
	var sides [2][]string
	for side, slower := range []map[string]float64{nil, {"relu": 2}} {
		for i := range 6 {
			saved := encoded(t, analyzed(t, sim.Run(rng, slower), keys))
			sides[side] = append(sides[side], write(fmt.Sprint("saved", side, i, ".json"), saved))
		}
	}
	recorded := recording(dir, "recorded", 7)

	r := check.Must(diff.Files(t.Context(), sides[0], append(sides[1], recorded), diff.Options{By: keys}))(t)
	verdicts := make(map[string]diff.Verdict)
	for _, row := range r.Rows {
		verdicts[row.Key.String()] = row.Verdict
	}
	check.Equal(t, "in saved reports", diff.Slower, verdicts["relu, gpu:0"])
	check.Equal(t, "in the recording", diff.Added, verdicts["matmul, cuda:0"])
	if delta := r.Rows[0].Delta.V; math.Abs(delta-1) > 0.1 {
		t.Errorf("the first row is %s", encoded(t, r.Rows[0]))
	}

	for _, test := range []struct {
		base, head []string
		by         []key.Key
		says       string
	}{
		{nil, sides[0], nil, "each side needs a run"},
		{sides[0][:1], sides[1][:1], nil, "is a saved report without single operations"},
		{[]string{recorded}, sides[0], check.Must(key.Parse("device"))(t), "create it with -by device"},
		{[]string{filepath.Join(dir, "missing")}, sides[0], nil, "missing"},
		{[]string{write("two.json", encoded(t, analyzed(t, nil, nil))+"{}")}, sides[0], nil, "data after the report"},
		{[]string{write("cut.json", `{"schema":"optrace.report/v1"`)}, sides[0], nil, "reading a saved report"},
	} {
		_, err := diff.Files(t.Context(), test.base, test.head, diff.Options{By: test.by})
		check.Says(t, test.says, test.says, err)
	}
}
