package ingest_test

import (
	"bytes"
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

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

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
	if err := in.Read(3, func(int, int64, int64,
		iter.Seq2[op.Record, error]) error {
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
