package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/optrace/optrace/internal/causes"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op/entries"
)

// What the program writes reads back with the cause as the first finding below the bound.
func TestWrite(t *testing.T) {
	var out bytes.Buffer
	check.OK(t, causes.Write(&out, "late_device", 0.3, 1))
	r := check.Must(analyze.Run(context.Background(), analyze.Records(entries.NewReader(&out, "ops.jsonl").Records()), analyze.Options{}))(t)
	if len(r.Findings) < 2 || r.Findings[1].Kind != findings.Straggler {
		t.Errorf("found %+v", r.Findings)
	}
	check.Says(t, "no error of a cause that is not there", "", causes.Write(&out, "magic", 1, 1))
}
