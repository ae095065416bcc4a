package otlp_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// Entries of which fields were left out can be read whole, and are otherwise the same.
func TestReadWhole(t *testing.T) {
	omitted := attrmap.FieldsOf(attrmap.FieldPath, attrmap.FieldScope, attrmap.FieldStep, attrmap.FieldStream, attrmap.FieldRoot,
		attrmap.FieldInputShapes)
	entries := 0
	for seed := range cases.Numbers(t, 300) {
		td := randomTraces(rand.New(rand.NewPCG(seed, 21)))
		text, proto := encodings(t, td)
		var indented bytes.Buffer
		check.OK(t, json.Indent(&indented, text, "", " "))
		for name, in := range map[string]struct {
			read reader
			text []byte
		}{
			"json": {readers["json"], text}, "indented": {readers["json"], indented.Bytes()},
			"raw": {readers["raw"], proto}, "frames": {readers["frames"], framed(text, proto)},
		} {
			var want []*op.Entry
			for rec := range in.read(bytes.NewReader(in.text), name, nil) {
				if rec.Entry != nil {
					want = append(want, rec.Entry.Clone())
				}
			}
			for rec := range in.read(bytes.NewReader(in.text), name, attrmap.Without(nil, omitted)) {
				if rec.Entry == nil {
					continue
				}
				entries++
				got := rec.Entry.Clone()
				if diff := cmp.Diff(want[0], rec.Whole.ReadWhole()); diff != "" {
					t.Fatalf("seed %d, %s (-want +whole)\n%s", seed, name, diff)
				}
				if diff := cmp.Diff(without(want[0], got), got); diff != "" {
					t.Fatalf("seed %d, %s (-want +got)\n%s", seed, name, diff)
				}
				want = want[1:]
			}
			if len(want) > 0 {
				t.Fatalf("seed %d, %s: %d entries are missing", seed, name, len(want))
			}
		}
	}
	if entries == 0 || cases.All() && entries < 300 {
		t.Errorf("only %d entries", entries)
	}
}

// without returns e without the fields that were left out of got. Warnings are those of
// got, which are some of e's.
func without(e, got *op.Entry) *op.Entry {
	c := e.Clone()
	c.Path, c.Scope, c.Root, c.RootSpanID = "", "", "", op.SpanID{}
	c.Step, c.Stream, c.InputShapes = op.Int{}, op.Int{}, nil
	c.Warn &= got.Warn
	return c
}
