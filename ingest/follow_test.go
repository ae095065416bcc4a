package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
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
	seen := follow(t, path, write(10, 20), rename,
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
	seen := follow(t, path, func(*following) { appendTo(t, path, []byte("{\"step\":\n")) },
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

// inParts returns the transcripts of an input's parts in order, and the number of non-empty parts.
func inParts(t *testing.T, in *ingest.Input, size, workers int) (transcript string, n int) {
	t.Helper()
	in.SetPartSize(size)
	var mu sync.Mutex
	texts := make(map[int64]string)
	check.OK(t, in.Read(workers, func(worker int, _, part int64, records iter.Seq2[op.Record, error]) error {
		text := recordtest.Transcript(t, records)
		mu.Lock()
		defer mu.Unlock()
		texts[part] = text
		if worker < 0 || worker >= workers {
			return fmt.Errorf("worker %d of %d", worker, workers)
		}
		return nil
	}))
	var all strings.Builder
	for i := range int64(len(texts)) {
		text, ok := texts[i]
		if text == "" {
			n--
		}
		if !ok {
			t.Errorf("part %d of %d is missing", i, len(texts))
		}
		all.WriteString(text)
	}
	return all.String(), n + len(texts)
}

// sampleFiles returns samples of several formats.
func sampleFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{
		"otlp/testdata/gate_*/*", "otlp/testdata/rotation/*", "jaeger/testdata/*.json", "kineto/testdata/*.json",
		"ort/testdata/*.json", "stdouttrace/testdata/*.json*", "../testdata/exporter_*",
	} {
		found := check.Must(filepath.Glob(pattern))(t)
		files = append(files, found...)
	}
	if len(files) < 20 {
		t.Fatalf("only %d samples", len(files))
	}
	return files
}

// At any part size and number of workers, the parts are the input.
func TestPartsAreTheInput(t *testing.T) {
	for _, path := range sampleFiles(t) {
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			continue
		}
		want := recordtest.Transcript(t, ingest.Open(path).Records())
		for size := range cases.Of(t, 2, []int{1, 700, 5000, 1 << 20}) {
			for _, workers := range []int{1, 3} {
				in := ingest.Open(path)
				got, _ := inParts(t, in, size, workers)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s, parts of %d, %d workers: (-want +got)\n%s", path, size, workers, diff)
				}
				info := check.Must(os.Stat(path))(t)
				for format, bytes := range in.Files() {
					if format != "" && bytes != info.Size() {
						t.Errorf("%s: %d bytes read of %d", path, bytes, info.Size())
					}
				}
			}
		}
	}
}

const (
	partsEntry = `{"step":%d,"operation":"matmul","device_id":null,"input_shapes":null,"output_shape":null,` +
		`"duration_us":0.6,"output_elements":null,"memory_bytes":null}`
	partsDocument = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"op","startTimeUnixNano":"%d",` +
		`"endTimeUnixNano":"900000","attributes":[{"key":"tensor.op.name","value":{"stringValue":"relu"}}]}]}]}]}`
)

func lines(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i+1)
	}
	return b.String()
}

func TestPartsOfSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jsonl"), []byte(lines(partsEntry, 10)))
	write(t, filepath.Join(dir, "b.txt"), []byte("hello"))
	write(t, filepath.Join(dir, "c.json"), []byte(lines(partsDocument, 10)))
	want := recordtest.Transcript(t, ingest.Open(dir).Records())
	in := ingest.Open(dir)
	if got, _ := inParts(t, in, 100, 3); got != want {
		t.Errorf("parts differ from the input: %s", cmp.Diff(want, got))
	}
	var formats []string
	for format := range in.Files() {
		formats = append(formats, format)
	}
	if diff := cmp.Diff([]string{"entries-jsonl", "", "otlp-json"}, formats); diff != "" {
		t.Error(diff)
	}
}

func TestPartsEndWithAnError(t *testing.T) {
	dir := t.TempDir()
	foreign := write(t, filepath.Join(dir, "b.txt"), []byte("hello"))
	failing := io.MultiReader(strings.NewReader(lines(partsEntry, 100)), iotest.ErrReader(errors.New("disk on fire")))
	for name, opts := range map[string]struct {
		ingest.Options
		path string
	}{
		"no such file":        {path: filepath.Join(dir, "none")},
		"unknown format":      {path: foreign},
		"nothing but unknown": {path: dir},
		"a source that fails": {path: ingest.Stdin, Options: ingest.Options{Stdin: failing}},
	} {
		t.Run(name, func(t *testing.T) {
			transcript, _ := inParts(t, opts.Open(opts.path), 5000, 2)
			if !strings.Contains(transcript, "error: ") {
				t.Errorf("no error:\n%.300s", transcript)
			}
		})
	}
}

// An error ends the reading at any time. Read returns the error of the first part.
func TestReadStopsConcurrentSafe(t *testing.T) {
	content := []byte(lines(partsEntry, 2000))
	for stopAfter := range 20 {
		in := ingest.Options{Stdin: bytes.NewReader(content)}.Open(ingest.Stdin)
		in.SetPartSize(1000)
		err := in.Read(3, func(_ int, _, part int64, _ iter.Seq2[op.Record, error]) error {
			if part >= int64(stopAfter) {
				return fmt.Errorf("stopped at part %d", part)
			}
			return nil
		})
		if want := fmt.Sprint("stopped at part ", stopAfter); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// A program with a locked thread, such as a device's, may read in several goroutines.
func TestReadFromALockedThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	content := lines(partsEntry, 1000)
	want := recordtest.Transcript(t, ingest.Options{Stdin: strings.NewReader(content)}.Open(ingest.Stdin).Records())
	in := ingest.Options{Stdin: strings.NewReader(content)}.Open(ingest.Stdin)
	if got, _ := inParts(t, in, 1000, 3); got != want {
		t.Errorf("parts differ from the input: %s", cmp.Diff(want, got))
	}
	in = ingest.Options{Stdin: strings.NewReader(content)}.Open(ingest.Stdin)
	in.SetPartSize(1000)
	stopped := errors.New("stopped")
	if err := in.Read(3, func(int, int64, int64, iter.Seq2[op.Record, error]) error {
		return stopped
	}); err != stopped {
		t.Errorf("error %v, want %v", err, stopped)
	}
}

func ExampleInput_Read() {
	in := ingest.Options{Stdin: strings.NewReader(lines(partsEntry, 1000))}.Open(ingest.Stdin)
	var counts [2]int
	err := in.Read(len(counts), func(worker int, _, _ int64, records iter.Seq2[op.Record, error]) error {
		for rec, err := range records {
			if err == nil && rec.Entry != nil {
				counts[worker]++
			}
		}
		return nil
	})
	fmt.Println(counts[0]+counts[1], err)
	// Output: 1000 <nil>
}
