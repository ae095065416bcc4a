package diff_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/internal/testing/check"
)

// Files reads recordings and saved reports, groups them by the keys, and names the path of an unreadable run.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	keys := check.Must(key.Parse("operation,device"))(t)
	sim := simulation{names: six, steps: 2, within: 0.1}
	rng := rand.New(rand.NewPCG(1, 9))
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	saved := write("saved.json", encoded(t, analyzed(t, sim.run(rng, nil), keys)))
	recorded := recording(dir, "matmul", 7)

	r := check.Must(diff.Files(t.Context(), []string{saved, saved}, []string{recorded}, diff.Options{By: keys}))(t)
	check.Equal(t, "runs", [2]int{2, 1}, [2]int{r.Base.Runs, r.Head.Runs})
	check.Equal(t, "operations", [2]int64{24, 1}, [2]int64{r.Base.Entries, r.Head.Entries})
	verdicts := make(map[string]diff.Verdict)
	for _, row := range r.Rows {
		verdicts[row.Key.String()] = row.Verdict
	}
	check.Equal(t, "only in the base", diff.Removed, verdicts["relu, gpu:0"])
	check.Equal(t, "only in the head", diff.Added, verdicts["matmul, cuda:0"])

	for text, path := range map[string]string{
		"missing.jsonl":                 filepath.Join(dir, "missing.jsonl"),
		"more behind it":                write("two.json", encoded(t, analyzed(t, nil, keys))+"{}"),
		"cut.json: reading a saved rep": write("cut.json", `{"schema":"optrace.report/v1"`),
	} {
		_, err := diff.Files(t.Context(), []string{path, path}, []string{recorded}, diff.Options{})
		check.Says(t, path, text, err)
	}
}
