package chrome_test

import (
	"bytes"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/render/chrome"
)

// A request, an operation in it and one after it, and two operations without a start.
func TestGolden(t *testing.T) {
	var tl chrome.Timeline
	for _, rec := range recordtest.File(t, "testdata/records.jsonl") {
		if rec.Span != nil {
			tl.AddSpan(rec.Span)
		} else {
			tl.Add(rec.Entry)
		}
	}
	var b bytes.Buffer
	check.OK(t, tl.Write(&b))
	golden.Check(t, "testdata/timeline.json", b.Bytes())
}
