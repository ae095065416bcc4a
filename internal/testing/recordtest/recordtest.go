// Package recordtest has common tests of readers.
package recordtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
)

// Transcript returns the output of a reader, a line per record: entries, spans and resources as JSON,
// counts and errors as text. An invalid entry is an error of the test.
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
		case rec.Call != nil:
			fmt.Fprintf(&b, "%s\n", rec.Call.AppendCallJSON(nil))
		case rec.Gap != nil:
			fmt.Fprintf(&b, "gap %s: %d\n", rec.Gap.Reason, rec.Gap.Dropped)
		case rec.Resource != nil:
			fmt.Fprintf(&b, "%s\n", op.AppendHeader(nil, rec.Resource))
		case rec.Skipped.N > 0:
			fmt.Fprintf(&b, "skipped %s: %d\n", rec.Skipped.Reason, rec.Skipped.N)
		}
	}
	return b.String()
}

// All returns records as an iterator without an error.
func All(records ...op.Record) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		for _, rec := range records {
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// File returns the records of a file of entries.
func File(t testing.TB, path string) (records []op.Record) {
	t.Helper()
	text := check.Must(os.ReadFile(path))(t)
	for rec, err := range entries.NewReader(bytes.NewReader(text), path).Records() {
		check.OK(t, err)
		records = append(records, Clone(rec))
	}
	return records
}

// Entries returns operations as an iterator of records.
func Entries(entries ...*op.Entry) iter.Seq2[op.Record, error] {
	records := make([]op.Record, len(entries))
	for i, e := range entries {
		records[i].Entry = e
	}
	return All(records...)
}

// Split returns copies of the operations and spans among records. An error ends the test.
func Split(t testing.TB, records iter.Seq2[op.Record, error]) (entries []*op.Entry, spans []*op.Span) {
	t.Helper()
	for rec, err := range records {
		switch {
		case err != nil:
			t.Fatal(err)
		case rec.Entry != nil:
			entries = append(entries, rec.Entry.Clone())
		case rec.Span != nil:
			spans = append(spans, rec.Span.Clone())
		}
	}
	return entries, spans
}

// ReadFunc is a reader of a format.
type ReadFunc func(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error]

// Golden compares the transcript of each file in testdata with an ending, such as ".json", with the file
// of the same name and the ending ".golden".
func Golden(t *testing.T, ending string, read ReadFunc) {
	t.Helper()
	files, err := filepath.Glob("testdata/*" + ending)
	if err != nil || len(files) == 0 {
		t.Fatal("no files:", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text := check.Must(os.ReadFile(file))(t)
			got := Transcript(t, read(bytes.NewReader(text), filepath.Base(file), nil))
			golden.Check(t, strings.TrimSuffix(file, ending)+".golden", got)
		})
	}
}

// Cases compares the transcripts of the inputs in testdata/cases.txt, see [golden.Cases], read at once and, without damage,
// byte by byte.
func Cases(t *testing.T, read ReadFunc) {
	t.Helper()
	golden.Cases(t, "testdata/cases.txt", func(input string) string {
		got := Transcript(t, read(strings.NewReader(input), "input", nil))
		if !strings.Contains(got, "error: ") { // where reading goes on behind damage depends on the sizes of reads
			check.Equal(t, "byte by byte: "+input, got,
				Transcript(t, read(iotest.OneByteReader(strings.NewReader(input)), "input", nil)))
		}
		return got
	})
}

// Ends checks the end of reading: when the caller stops, at any record, and when the source fails.
func Ends(t *testing.T, read ReadFunc, texts ...string) {
	t.Helper()
	broken := errors.New("broken")
	for _, text := range texts {
		records := 0
		var last error
		for _, err := range read(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), "broken", nil) {
			records++
			last = err
		}
		if !errors.Is(last, broken) {
			t.Errorf("%.100s: the last error is %v", text, last)
		}
		for stop := 1; stop < records; stop++ {
			seen := 0
			for _, last = range read(strings.NewReader(text), "stopped", nil) {
				if seen++; seen == stop {
					break
				}
			}
			if seen != stop {
				t.Errorf("%.100s: %d records where the caller stops after %d; the last error is %v", text, seen, stop,
					last)
			}
		}
	}
}

// Benchmark measures read on a text with so many entries.
func Benchmark(b *testing.B, text []byte, entries int, read ReadFunc) {
	b.Helper()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for rec, err := range read(bytes.NewReader(text), "benchmark", nil) {
			if err != nil {
				b.Fatal(err)
			}
			if rec.Entry != nil {
				n++
			}
		}
		if n != entries {
			b.Fatalf("%d entries", n)
		}
	}
}

// Check drains a reader of arbitrary input, for fuzzing: every entry must be valid and survive a round
// trip through JSON Lines, and a record must have one kind.
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
			// -1 means no offset
			if !ended && (syntax.Offset < -1 || syntax.Line < 0 || syntax.Msg == "") {
				t.Fatalf("an error without a position or a message: %#v", syntax)
			}
			continue
		}
		if rec.Span != nil {
			line := rec.Span.AppendJSON(nil)
			back, err := entries.DecodeLine(line)
			if err != nil || back.Span == nil || !bytes.Equal(line, back.Span.AppendJSON(nil)) {
				t.Fatalf("%s: read back as %+v: %v", line, back.Span, err)
			}
		}
		if rec.Call != nil {
			line := rec.Call.AppendCallJSON(nil)
			back, err := entries.DecodeLine(line)
			if err != nil || back.Call == nil || !bytes.Equal(line, back.Call.AppendCallJSON(nil)) {
				t.Fatalf("%s: read back as %+v: %v", line, back.Call, err)
			}
		}
		if rec.Entry == nil {
			continue
		}
		if rec.Span != nil || rec.Resource != nil {
			t.Fatal("an entry beside something else")
		}
		check.OK(t, rec.Entry.Validate())
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

// Figures returns the lines of expected.jsonl in a folder beside the repository. Another program computed the figures
// from the test data of Holistic Trace Analysis (github.com/facebookresearch/HolisticTraceAnalysis, tests/data).
// Figures skips the test if the folder is missing.
func Figures[T any](t testing.TB, folder string) (all []T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "expected.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("needs %s: copies of *.json.gz from tests/data of "+
			"github.com/facebookresearch/HolisticTraceAnalysis and expected.jsonl, "+
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

// Clone copies a record of a reader.
func Clone(rec op.Record) op.Record {
	switch {
	case rec.Entry != nil:
		rec.Entry = rec.Entry.Clone()
	case rec.Span != nil:
		rec.Span = rec.Span.Clone()
	case rec.Call != nil:
		rec.Call = rec.Call.Clone()
	case rec.Resource != nil:
		rec.Resource = rec.Resource.Clone()
	case rec.Gap != nil:
		rec.Gap = new(*rec.Gap)
	case rec.Batch != nil:
		rec.Batch = new(*rec.Batch)
	}
	return rec
}

// Random makes random records.
type Random struct{ *rand.Rand }

// Maybe reports true half of the time.
func (r Random) Maybe() bool { return r.IntN(2) == 0 }

// ID returns a random id that is not zero.
func (r Random) ID() (id op.SpanID) {
	for i := range id {
		id[i] = byte(1 + r.IntN(255))
	}
	return id
}

// Entry returns an entry in the form of readers, with any rule for its kind.
func (r Random) Entry() *op.Entry {
	e := optest.RandomEntry(r.Rand)
	e.KindRule = op.KindRule(r.IntN(int(op.RuleDefault) + 1))
	return e
}

// Record returns a record of any kind.
func (r Random) Record() op.Record {
	e := r.Entry()
	switch r.IntN(8) {
	case 0:
		return op.Record{Span: &op.Span{
			Name: e.Path, TraceID: op.TraceID{7}, SpanID: r.ID(), ParentSpanID: r.ID(), RemoteParent: r.Maybe(),
			Start: e.Start, Duration: e.Duration, Service: e.Service, Failed: e.Failed, Attrs: e.Attrs, Links: e.Links,
			Extra: e.Extra,
		}}
	case 1:
		return op.Record{Resource: &op.Resource{Service: e.Service, Rank: e.Rank, WorldSize: e.FLOPs, Attrs: e.Attrs}}
	case 2:
		return op.Record{Gap: &op.Gap{Dropped: r.Int64N(100), Reason: e.Path}}
	case 3:
		return op.Record{Batch: &op.Batch{Writer: e.Path, Sequence: r.Int64N(100), Entries: r.Int64N(100)}}
	}
	return op.Record{Entry: e}
}
