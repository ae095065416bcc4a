package text_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/render/text"
)

func TestBatchesFromCounts(t *testing.T) {
	for want, c := range map[string]*engines.Composition{
		"": nil,
		"570 of 570 without links follow from the tokens and times of requests": {Steps: 570, Told: 570, Engines: 1},
		"4 of 9 without links follow from the tokens and times of requests; 3 fit several requests; 2 do not add up to the " +
			"tokens of requests": {Steps: 9, Told: 4, Ambiguous: 3, Unmatched: 2, Engines: 1},
		"0 of 9 without links follow from the tokens and times of requests; requests do not say which of 2 engines ran them": {
			Steps: 9, Engines: 2},
	} {
		var b bytes.Buffer
		check.OK(t, text.WriteCorrelation(&b, &correlate.Report{Composed: c}, text.Options{Width: 200}))
		got := ""
		for line := range strings.Lines(b.String()) {
			if rest, ok := strings.CutPrefix(line, "batches"); ok {
				got = strings.TrimSpace(rest)
			}
		}
		check.Equal(t, "batches", want, got)
	}
}
