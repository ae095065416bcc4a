package main

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/internal/text/termtext"
)

// recorded holds recorded traces outside the repository.
const recorded = "../../../shared/data"

// For any input, no line is wider than the text.
func TestNothingWraps(t *testing.T) {
	widths := map[string][]int{"testdata": {60, 80, 200}, "../../ingest/kineto/testdata": {80}, recorded: {80}}
	for folder, widths := range widths {
		files := slices.Concat(filesBelow(t, folder, ".json"), filesBelow(t, folder, ".pb"))
		if len(files) == 0 && folder != recorded {
			t.Errorf("no files below %s", folder)
		}
		for _, path := range files {
			t.Run(strings.TrimPrefix(path, "../../"), func(t *testing.T) {
				t.Parallel()
				for _, width := range widths {
					for _, command := range []string{"report", "report -by operation,device,shape", "correlate"} {
						checkWidth(t, width, append(strings.Fields(command), "-width", strconv.Itoa(width), path))
					}
				}
			})
		}
	}
}

// checkWidth runs a command and checks the width of its lines. It skips refused inputs.
func checkWidth(t *testing.T, width int, args []string) {
	t.Helper()
	code, out, errs := ran(t, args...)
	if code != exit.OK {
		t.Logf("exit code %d: %s", code, errs)
		return
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if w := termtext.Width(line); w > width {
			t.Errorf("%s: a line of %d columns: %q", args, w, line)
		}
		if strings.HasSuffix(line, " ") || strings.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("%s: blanks at the end or control characters: %q", args, line)
		}
	}
}
