package recordtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// Figures returns the lines of expected.jsonl in a folder beside the repository. Another program computed
// the figures from the test data of Holistic Trace Analysis
// (github.com/facebookresearch/HolisticTraceAnalysis, tests/data). Figures skips the test if the folder is
// missing.
func Figures[T any](t testing.TB, folder string) (all []T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "expected.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("needs %s: copies of *.json.gz from tests/data of github.com/facebookresearch/HolisticTraceAnalysis and expected.jsonl, "+
			"the figures of each, computed by another program", folder)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for err == nil && d.More() {
		var one T
		err = d.Decode(&one)
		all = append(all, one)
	}
	check.OK(t, err)
	return all
}
