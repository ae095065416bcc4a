package entries_test

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
)

// readAll returns a word per record and error of text.
func readAll(text string) []string {
	var got []string
	for rec, err := range entries.NewReader(strings.NewReader(text), "f").Records() {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax) && syntax.Truncated:
			got = append(got, "truncated "+err.Error())
		case err != nil:
			got = append(got, err.Error())
		case rec.Entry != nil:
			got = append(got, "op "+rec.Entry.Operation)
		case rec.Span != nil:
			got = append(got, "span "+rec.Span.Name)
		case rec.Gap != nil:
			got = append(got, fmt.Sprint("gap ", rec.Gap.Dropped))
		case rec.Batch != nil:
			got = append(got, fmt.Sprint("batch ", rec.Batch.Sequence))
		case rec.Resource != nil:
			got = append(got, "resource "+rec.Resource.Service)
		case rec.Skipped.N > 0:
			got = append(got, "skipped "+string(rec.Skipped.Reason))
		default:
			got = append(got, "empty")
		}
	}
	return got
}

func line(operation string) string { return fmt.Sprintf(`{"operation":%q,"duration_us":1}`, operation) }

func TestReader(t *testing.T) {
	header := `{"schema":"optrace.entries/v1","resource":{"service":"s"}}`
	a := line("a")
	b := line("b")
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", nil},
		{"only a header", header + "\n", []string{"resource s"}},
		{"lines", header + "\n" + a + "\n" + b + "\n", []string{"resource s", "op a", "op b"}},
		{"no header", a + "\n", []string{"op a"}},
		{"no final newline", a + "\n" + b, []string{"op a", "op b"}},
		{"CRLF", a + "\r\n" + b + "\r\n", []string{"op a", "op b"}},
		{"byte order mark", "\ufeff" + a + "\n", []string{"op a"}},
		{"byte order mark and an error", "\ufeffx\n", []string{"f:1: expected an object, found 'x' (at byte 3)"}},
		{"blank lines", "\n \t\r\n" + a + "\n\n\n" + b + "\n\n", []string{"op a", "op b"}},
		{"torn tail", a + "\n" + b[:20], []string{"op a", "truncated f:2: unexpected end of JSON text (at byte 54)"}},
		{"torn line within", b[:20] + "\n" + a + "\n", []string{"f:1: unexpected end of JSON text (at byte 20)",
			"op a"}},
		{"bad lines go on", "x\n" + a + "\n{}x\n" + b + "\n", []string{"f:1: expected an object, found 'x' (at byte 0)",
			"op a",
			"f:3: expected the end of the JSON text, found 'x' (at byte 38)", "op b"}},
		{"unknown record", `{"future":1}` + "\n" + a, []string{"skipped unknown_record", "op a"}},
		{"empty record", "{}\n" + a, []string{"empty", "op a"}},
		{"other records", `{"gap":{"dropped":3}}` + "\n" + `{"batch":{"seq":4}}` + "\n" + `{"span":{"name":"r"}}`,
			[]string{"gap 3",
				"batch 4", "span r"}},
		{"newer schema is final", a + "\n" + `{"schema":"optrace.entries/v2"}` + "\n" + b, []string{"op a",
			`f:2: schema "optrace.entries/v2" is not supported, this version reads "optrace.entries/v1"`}},
		{"a record within a torn header goes on", `{"schema":"{"batch":{"seq":4}}` + "\n" + a,
			[]string{"f:1: expected ',' or '}', found 'b' (at byte 13)", "op a"}},
		{"UTF-16 is final", "\xff\xfe{\x00}\x00\n\x00" + a, []string{"f: the text is UTF-16, entries are UTF-8"}},
		{"binary", "\x00\x01\x02\n" + a, []string{`f:1: expected an object, found '\x00' (at byte 0)`, "op a"}},
	} {
		check.Equal(t, test.name, test.want, readAll(test.text))
	}
}

func TestReaderGiantLine(t *testing.T) {
	text := line("a") + "\n" + strings.Repeat("x", entries.MaxLineBytes+1) + "\n" + line("b") + "\n"
	want := []string{"op a", "f:2: line longer than 16777216 bytes (at byte 34)", "op b"}
	check.Equal(t, "records", want, readAll(text))
	_, err := entries.NewReader(strings.NewReader(strings.Repeat("x", entries.MaxLineBytes+1)), "f").Next()
	if syntax, ok := errors.AsType[*op.SyntaxError](err); !ok || syntax.Class.String() != "limit_exceeded" {
		t.Errorf("error %v", err)
	}
}

// A file is readable from any line boundary; a cut inside a line costs this line only.
func TestReaderFromAnyCut(t *testing.T) {
	lines := goldenRecords()
	text := strings.Join(lines, "")
	all := readAll(text)
	if len(all) != len(lines) {
		t.Fatalf("%d records of %d lines: %q", len(all), len(lines), all)
	}
	start := 0
	for i, l := range lines {
		check.Equal(t, fmt.Sprintf("from line %d", i+1), all[i:], readAll(text[start:]))
		start += len(l)
	}
	for n := range text {
		got := readAll(text[:n])
		whole := strings.Count(text[:n], "\n")
		if len(got) < whole || len(got) > whole+1 {
			t.Fatalf("cut after %d bytes: %d records", n, len(got))
		}
		for i := range whole {
			if got[i] != all[i] {
				t.Fatalf("cut after %d bytes: record %d is %q, want %q", n, i, got[i], all[i])
			}
		}
		if len(got) > whole && got[whole] != all[whole] && !strings.HasPrefix(got[whole], "truncated") {
			t.Fatalf("cut after %d bytes the last is %q", n, got[whole])
		}
	}
}

// An entry has the host of its writer's resource, wherever the reader begins.
func TestReaderHost(t *testing.T) {
	lines := []string{
		`{"operation":"none","duration_ns":1}`,
		`{"schema":"optrace.entries/v1","resource":{"service":"s","attrs":{"host.name":"a"}}}`,
		`{"batch":{"writer":"w1","seq":0,"entries":1}}`,
		`{"operation":"a","duration_ns":1}`,
		`{"schema":"optrace.entries/v1","resource":{"service":"s","attrs":{"host.name":"b"}}}`,
		`{"batch":{"writer":"w2","seq":0,"entries":1}}`,
		string((&op.Entry{Operation: "b", Duration: 1}).AppendJSON(nil)),
		string((&op.Entry{Operation: "b", Duration: 1}).AppendJSON(nil)),
		`{"batch":{"writer":"w1","seq":1,"entries":1}}`,
		string((&op.Entry{Operation: "a", Duration: 1}).AppendJSON(nil)),
		`{"schema":"optrace.entries/v1"}`,
		`{"operation":"none","duration_ns":1}`,
	}
	for from := range lines {
		var sources entries.Sources
		sources.Follow([]byte(strings.Join(lines[:from], "\n")))
		r := entries.NewReader(strings.NewReader(strings.Join(lines[from:], "\n")), "f")
		r.SetSources(&sources)
		for rec, err := range r.Records() {
			check.OK(t, err)
			if e := rec.Entry; e != nil && e.Host != strings.TrimPrefix(e.Operation, "none") {
				t.Errorf("from line %d: %s is on host %q", from+1, e.Operation, e.Host)
			}
		}
	}
}

// A caller may stop anywhere and go on later. An error of the source comes last, and again.
func TestReaderEnds(t *testing.T) {
	recordtest.Ends(t, func(src io.Reader, name string, _ *attr.Mapping) iter.Seq2[op.Record, error] {
		return entries.NewReader(src, name).Records()
	}, strings.Join(goldenRecords(), ""), "x\n"+line("a")+"\n")
	broken := errors.New("disk on fire")
	r := entries.NewReader(io.MultiReader(strings.NewReader(line("a")+"\n"+line("b")+"\n"), iotest.ErrReader(broken)),
		"f")
	for range r.Records() {
		break
	}
	check.Equal(t, "behind the stop", "b", check.Must(r.Next())(t).Entry.Operation)
	for range 2 {
		_, err := r.Next()
		check.Is(t, "Next", broken, err)
	}
}
