package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// following counts the results of a Follower while a test writes the file: the Follower takes the next step when it is
// idle, and ends behind the last one.
type following struct {
	operations, spans, errs int
	final                   error
	format                  string
	bytes                   int
}

func follow(t *testing.T, path string, steps ...func(seen *following)) *following {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := &following{}
	f := ingest.Follower{
		Interval: time.Millisecond,
		Started:  func(format string) { seen.format = format },
		Options:  ingest.Options{Progress: func(n int) { seen.bytes += n }},
		Idle: func() {
			if len(steps) == 0 {
				cancel()
				return
			}
			step := steps[0]
			steps = steps[1:]
			step(seen)
		},
	}
	for rec, err := range f.Records(ctx, path) {
		switch _, syntax := errors.AsType[*op.SyntaxError](err); {
		case syntax:
			seen.errs++
		case err != nil:
			seen.final = err
		case rec.Entry != nil:
			seen.operations++
		case rec.Span != nil:
			seen.spans++
		}
	}
	if len(steps) > 0 && seen.final == nil {
		t.Errorf("%d steps were not taken", len(steps))
	}
	return seen
}

func appendTo(t *testing.T, path string, text []byte) {
	t.Helper()
	f := check.Must(os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))(t)
	check.Must(f.Write(text))(t)
	check.OK(t, f.Close())
}

// counted returns the counts of reading a file at once.
func counted(t *testing.T, path string) (operations, spans int) {
	t.Helper()
	o, s := recordtest.Split(t, ingest.Open(path).Records())
	return len(o), len(s)
}

// samples are files of the followed formats.
func samples(t *testing.T) map[string]string {
	entries := filepath.Join(t.TempDir(), "ops.jsonl")
	appendTo(t, entries, entryLines(0, 300))
	return map[string]string{
		"entries-jsonl": entries,
		"otlp-json":     "otlp/testdata/gate_on/traces.jsonl",
		"otlp-proto":    "otlp/testdata/gate_on/traces.pb",
		"stdouttrace":   "stdouttrace/testdata/spans.jsonl",
	}
}

func entryLines(from, to int) []byte {
	var b bytes.Buffer
	w := entries.NewWriter(&b, &op.Resource{Service: "trainer"})
	for i := range to - from {
		e := &op.Entry{Operation: "matmul", DeviceID: "cuda:0", Start: op.Known(int64(from+i) * 1000), Duration: 500}
		if err := w.Entry(e); err != nil {
			panic(err)
		}
	}
	if err := w.Flush(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Following finds the records of reading at once, at any division into writes.
func TestFollowGrowing(t *testing.T) {
	for format, sample := range samples(t) {
		text := check.Must(os.ReadFile(sample))(t)
		operations, spans := counted(t, sample)
		for _, size := range []int{max(64, len(text)/7), len(text)/2 + 1, len(text)} {
			path := filepath.Join(t.TempDir(), "growing")
			appendTo(t, path, nil)
			var steps []func(*following)
			for rest := text; len(rest) > 0; {
				part := rest[:min(size, len(rest))]
				rest = rest[len(part):]
				steps = append(steps, func(*following) { appendTo(t, path, part) })
			}
			seen := follow(t, path, steps...)
			if seen.operations != operations || seen.spans != spans || seen.errs > 0 || seen.final != nil {
				t.Errorf("%s in writes of %d: %+v, as a whole %d operations and %d spans", format, size, seen,
					operations, spans)
			}
			if seen.format != format || seen.bytes != len(text) {
				t.Errorf("%s: format %q, %d bytes of %d", format, seen.format, seen.bytes, len(text))
			}
		}
	}
}

// A waiting Follower has yielded every record in the file.
func TestFollowAtOnce(t *testing.T) {
	for format, sample := range samples(t) {
		if format == "otlp-proto" {
			continue // has no lines
		}
		text := check.Must(os.ReadFile(sample))(t)
		path := filepath.Join(t.TempDir(), "growing")
		appendTo(t, path, nil)
		var steps []func(*following)
		for line := range bytes.Lines(text) {
			steps = append(steps, func(seen *following) {
				if operations, spans := counted(t, path); operations != seen.operations || spans != seen.spans {
					t.Fatalf("%s: %+v, in the file are %d operations and %d spans", format, seen, operations, spans)
				}
				appendTo(t, path, line)
			})
			if len(steps) == 20 {
				break
			}
		}
		follow(t, path, steps...)
	}
}

func TestFollowRotation(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ops.jsonl")
	rename := func(*following) {
		check.OK(t, os.Rename(path, path+".1"))
	}
	write := func(from, to int) func(*following) {
		return func(*following) { appendTo(t, path, entryLines(from, to)) }
	}
	appendTo(t, path, entryLines(0, 10))
	seen := follow(t, path,
		write(10, 20),
		rename,
		func(*following) { appendTo(t, path+".1", entryLines(20, 25)) }, // its writer has not noticed
		write(25, 40),
		func(*following) {}, func(*following) {}, func(*following) {},
		write(40, 45),
		func(*following) { // copied and emptied
			check.OK(t, os.Truncate(path, 0))
		},
		func(*following) {}, func(*following) {},
		write(45, 50),
	)
	if seen.operations != 50 || seen.errs > 0 || seen.final != nil {
		t.Errorf("%+v of 50 operations", seen)
	}
}

// An unfollowed file is read once.
func TestFollowWhole(t *testing.T) {
	for sample, format := range map[string]string{
		"kineto/testdata/train.json": "chrome", "otlp/testdata/gate_on/traces.pb.zst": "otlp-proto",
	} {
		info := check.Must(os.Stat(sample))(t)
		operations, spans := counted(t, sample)
		seen := follow(t, sample)
		if seen.operations != operations || seen.spans != spans || seen.format != format || seen.final != nil ||
			int64(seen.bytes) != info.Size() {
			t.Errorf("%s of %d bytes: %+v, read at once %d operations and %d spans", sample, info.Size(), seen,
				operations, spans)
		}
	}
}

func TestFollowErrors(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "notes.md")
	appendTo(t, other, []byte("# Notes\nof a kind\n"))
	for path, want := range map[string]string{filepath.Join(dir, "missing"): "no such file", other: "unknown format",
		dir: "is a directory"} {
		if seen := follow(t, path); seen.final == nil || !strings.Contains(seen.final.Error(), want) {
			t.Errorf("%s: error %v", path, seen.final)
		}
	}
	// A bad line is one error, half a line at the end is not.
	path := filepath.Join(dir, "ops.jsonl")
	appendTo(t, path, entryLines(0, 3))
	seen := follow(t, path,
		func(*following) { appendTo(t, path, []byte("{\"step\":\n")) },
		func(*following) { appendTo(t, path, entryLines(3, 5)) },
		func(*following) { appendTo(t, path, []byte(`{"step":1,"opera`)) },
	)
	if seen.operations != 5 || seen.errs != 1 || seen.final != nil {
		t.Errorf("%+v", seen)
	}
}

func TestFollowStandardInput(t *testing.T) {
	f := ingest.Follower{Options: ingest.Options{Stdin: bytes.NewReader(entryLines(0, 7))}}
	n := 0
	for rec, err := range f.Records(t.Context(), ingest.Stdin) {
		check.OK(t, err)
		if rec.Entry != nil {
			n++
		}
	}
	check.Equal(t, "operations", 7, n)
}
