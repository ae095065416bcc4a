// Package recordtest is the common part of the tests of readers.
package recordtest

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// Transcript returns the output of a reader, a line per record: entries, spans
// and resources as JSON, counts and errors as text. Entries that are not valid
// fail the test.
func Transcript(t testing.TB, records iter.Seq2[op.Record, error]) string {
	t.Helper()
	var b strings.Builder
	for rec, err := range records {
		switch {
		case err != nil:
			fmt.Fprintln(&b, "error:", err)
		case rec.Entry != nil:
			if err := rec.Entry.Validate(); err != nil {
				t.Errorf("invalid entry %s: %v", rec.Entry.AppendJSON(nil), err)
			}
			fmt.Fprintf(&b, "%s\n", rec.Entry.AppendJSON(nil))
		case rec.Span != nil:
			fmt.Fprintf(&b, "%s\n", rec.Span.AppendJSON(nil))
		case rec.Resource != nil:
			fmt.Fprintf(&b, "%s\n", op.AppendHeader(nil, rec.Resource))
		case rec.Skipped.N > 0:
			fmt.Fprintf(&b, "skipped %s: %d\n", rec.Skipped.Reason, rec.Skipped.N)
		}
	}
	return b.String()
}

// Check drains a reader of arbitrary input, for fuzzing: every entry must be
// valid and read back from its JSON Lines form as it was, and no record must
// hold more than one thing.
func Check(t testing.TB, records iter.Seq2[op.Record, error]) {
	t.Helper()
	ended := false
	for rec, err := range records {
		if ended {
			t.Fatal("records behind a final error")
		}
		var syntax *op.SyntaxError
		if err != nil {
			ended = !errors.As(err, &syntax)
			continue
		}
		if rec.Entry == nil {
			continue
		}
		if rec.Span != nil || rec.Resource != nil {
			t.Fatal("an entry beside something else")
		}
		if err := rec.Entry.Validate(); err != nil {
			t.Fatal(err)
		}
		line := rec.Entry.AppendJSON(nil)
		back, err := entries.DecodeLine(line)
		if err != nil || back.Entry == nil {
			t.Fatalf("%s: %v", line, err)
		}
		if again := back.Entry.AppendJSON(nil); string(again) != string(line) {
			t.Fatalf("read back as\n%s\nwant\n%s", again, line)
		}
	}
}
