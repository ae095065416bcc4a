package entries_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// omittable are the fields that a Reader may be told to leave out.
var omittable = [][]attrmap.Field{
	{attrmap.FieldIDs, attrmap.FieldParent}, {attrmap.FieldRoot}, {attrmap.FieldPath},
	{attrmap.FieldIDs, attrmap.FieldParent, attrmap.FieldRoot, attrmap.FieldPath, attrmap.FieldScope},
}

// entriesOf reads text without fields. It returns the entries, once as they are handed
// out and once whole, and the errors.
func entriesOf(text []byte, fields attrmap.Fields) (all, whole []*op.Entry, errs []string) {
	r := entries.NewReader(bytes.NewReader(text), "")
	r.Omit(fields)
	for {
		rec, err := r.Next()
		switch {
		case err == io.EOF:
			return all, whole, errs
		case err != nil:
			errs = append(errs, fmt.Sprint(err))
		case rec.Entry != nil:
			e := rec.Entry.Clone()
			all, whole = append(all, e), append(whole, e)
			if rec.Whole != nil {
				whole[len(whole)-1] = rec.Whole.ReadWhole().Clone()
			}
		}
	}
}

// without returns e without fields, in as far as a Reader leaves them out.
func without(e *op.Entry, fields attrmap.Fields) *op.Entry {
	c := e.Clone()
	if fields.Has(attrmap.FieldIDs) {
		c.TraceID, c.SpanID, c.ParentSpanID = op.TraceID{}, op.SpanID{}, op.SpanID{}
	}
	if fields.Has(attrmap.FieldRoot) {
		c.RootSpanID = op.SpanID{}
	}
	if fields.Has(attrmap.FieldPath) {
		c.Path = ""
	}
	c.Warn = 0 // of which some are about those fields
	return c
}

func TestOmit(t *testing.T) {
	for seed := range cases.Numbers(t, 200) {
		rng := rand.New(rand.NewPCG(seed, 9))
		lines := []string{fullLine, fullSpan, lineOf(rng), lineOf(rng), lineOf(rng)}
		text := linesOf(rng, lines)
		_, want, wantErrs := entriesOf(text, 0)
		for _, f := range omittable {
			fields := attrmap.FieldsOf(f...)
			entries, whole, errs := entriesOf(text, fields)
			if diff := cmp.Diff(wantErrs, errs); diff != "" {
				t.Fatalf("errors without %d (-all fields +without):\n%s\nread:\n%s", f, diff, text)
			}
			if diff := cmp.Diff(want, whole); diff != "" {
				t.Fatalf("whole entries without %d (-all fields +without):\n%s\nread:\n%s", f, diff, text)
			}
			for i, e := range entries {
				if diff := cmp.Diff(without(want[i], fields), without(e, 0)); diff != "" {
					t.Fatalf("without %d (-want +got):\n%s\nread:\n%s", f, diff, text)
				}
			}
			// The same text that is not in canonical form.
			spaced, _, _ := entriesOf(bytes.ReplaceAll(text, []byte(`,"`), []byte(`, "`)), fields)
			if diff := cmp.Diff(entries, spaced); diff != "" {
				t.Fatalf("without %d (-as it is +with white space):\n%s\nread:\n%s", f, diff, text)
			}
		}
	}
}
