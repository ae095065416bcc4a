package ingest_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

const (
	entryLine = `{"step":1,"operation":"matmul","device_id":"cuda:0","input_shapes":null,"output_shape":[2,3],` +
		`"duration_us":1.5,"output_elements":6,"memory_bytes":48}` + "\n"
	seedTrace = `{"entries":[{"step":0,"operation":"relu","device_id":null,"input_shapes":[],"output_shape":[],` +
		`"duration_us":2.0,` +
		`"output_elements":1,"memory_bytes":8}],"total_duration_us":2.0,"metadata":{"model":"resnet50"}}`
)

// read drains an input and returns the names of its operations, the messages of its bad records, and the final error.
func read(in *ingest.Input) (names, bad []string, err error) {
	for e, err := range in.Entries() {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax):
			bad = append(bad, syntax.Error())
		case err != nil:
			return names, bad, err
		default:
			names = append(names, e.Operation)
		}
	}
	return names, bad, nil
}

func write(t *testing.T, path string, content []byte) string {
	t.Helper()
	check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check.OK(t, os.WriteFile(path, content, 0o644))
	return path
}

func zstandard[T string | []byte](t *testing.T, parts ...T) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, part := range parts { // a frame each
		z := check.Must(zstd.NewWriter(&b))(t)
		check.Must(z.Write([]byte(part)))(t)
		check.OK(t, z.Close())
	}
	return b.Bytes()
}

func TestInputOfOneFile(t *testing.T) {
	for _, test := range []struct {
		name    string
		content []byte
		want    []string
		format  []string
	}{
		{"entries", []byte(entryLine + entryLine), []string{"matmul", "matmul"}, []string{"entries-jsonl"}},
		{"entries without a final newline", []byte(strings.TrimSpace(entryLine)), []string{"matmul"},
			[]string{"entries-jsonl"}},
		{"byte order mark and CRLF", []byte("\xef\xbb\xbf" + strings.ReplaceAll(entryLine, "\n", "\r\n")),
			[]string{"matmul"},
			[]string{"entries-jsonl"}},
		{"white space in front", []byte("\n \n" + entryLine), []string{"matmul"}, []string{"entries-jsonl"}},
		{"JSON that starts like protobuf", []byte("\n{\n" + seedTrace[1:]), []string{"relu"}, []string{"trace-json"}},
		{"header only", []byte(`{"schema":"optrace.entries/v1"}` + "\n"), nil, []string{"entries-jsonl"}},
		{"starts with a gap", []byte(`{"gap":{"dropped":1}}` + "\n" + entryLine), []string{"matmul"},
			[]string{"entries-jsonl"}},
		{"seed trace", []byte(seedTrace), []string{"relu"}, []string{"trace-json"}},
		{"seed trace with its keys in another order", []byte(`{"metadata":{"note":"` + strings.Repeat("x", 200<<10) +
			`"},` + seedTrace[1:]),
			[]string{"relu"}, []string{"trace-json"}},
		{"Kineto's trace of a job of many ranks", []byte(`{"schemaVersion":1,"distributedInfo":{"rank":2,` +
			`"pg_config":[` +
			strings.Repeat("0,", 1<<20) + `0]},"traceEvents":[{"ph":"X","cat":"kernel","name":"gemm","ts":1,` +
			`"dur":2}]}`),
			[]string{"gemm"}, []string{"chrome"}},
		{"empty", nil, nil, nil},
		{"white space only", []byte(" \n\n"), nil, nil},
		{"gzip", check.Gzip(t, entryLine), []string{"matmul"}, []string{"entries-jsonl"}},
		{"gzip of several members", check.Gzip(t, entryLine, entryLine), []string{"matmul", "matmul"},
			[]string{"entries-jsonl"}},
		{"zstd", zstandard(t, seedTrace), []string{"relu"}, []string{"trace-json"}},
		{"zstd of several frames", zstandard(t, entryLine, entryLine), []string{"matmul", "matmul"},
			[]string{"entries-jsonl"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := ingest.Open(write(t, filepath.Join(t.TempDir(), "input"), test.content))
			names, bad, err := read(in)
			if err != nil || len(bad) > 0 {
				t.Fatalf("err = %v, bad = %q", err, bad)
			}
			check.Equal(t, "operations", test.want, names)
			want := ingest.Stats{Files: 1, Bytes: int64(len(test.content)), Formats: test.format}
			check.Equal(t, "stats", want, in.Stats())
		})
	}
}

func TestInputOfSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	a := write(t, filepath.Join(dir, "a.jsonl"), []byte(entryLine))
	write(t, filepath.Join(dir, "set", "2.jsonl.gz"), check.Gzip(t, entryLine))
	write(t, filepath.Join(dir, "set", "1", "x.json"), []byte(seedTrace))
	write(t, filepath.Join(dir, "set", ".hidden", "y"), []byte("not a trace"))
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(dir, "set"), link); err != nil {
		t.Skip(err)
	}
	var seen int
	in := ingest.Options{Stdin: strings.NewReader(seedTrace), Progress: func(n int) { seen += n }}.
		Open(a, link, "-")
	names, bad, err := read(in)
	if err != nil || len(bad) > 0 {
		t.Fatalf("err = %v, bad = %q", err, bad)
	}
	check.Equal(t, "operations", []string{"matmul", "relu", "matmul", "relu"}, names)
	s := in.Stats()
	if s.Files != 4 || int(s.Bytes) != seen || !cmp.Equal(s.Formats, []string{"entries-jsonl", "trace-json"}) {
		t.Errorf("stats = %+v, progress told of %d bytes", s, seen)
	}
}

// An input of files can be read several times, standard input once.
func TestInputIsReadAgain(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "ops.jsonl"), []byte(strings.Repeat(entryLine, 1500)))
	gone := errors.New("gone")
	ways := map[string]func(in *ingest.Input) (n int, err error){
		"Entries": func(in *ingest.Input) (n int, err error) {
			names, _, err := read(in)
			return len(names), err
		},
		"Read": func(in *ingest.Input) (int, error) {
			var n atomic.Int64
			err := in.Read(2, func(_ int, _, _ int64, records iter.Seq2[op.Record, error]) error {
				for rec := range records {
					if rec.Entry != nil {
						n.Add(1)
					}
				}
				return nil
			})
			return int(n.Load()), err
		},
		"Read that ends": func(in *ingest.Input) (int, error) {
			in.Want(attr.Want{Keep: []string{attrkey.Device}})
			if err := in.Read(2, func(int, int64, int64, iter.Seq2[op.Record, error]) error {
				return gone
			}); err != gone {
				return 0, err
			}
			return 3000, nil
		},
		"Entries that end": func(in *ingest.Input) (int, error) {
			for e, err := range in.Entries() {
				if err != nil {
					return 0, err
				}
				if e.DeviceID != "cuda:0" || len(e.Attrs) > 0 {
					return 0, fmt.Errorf("entry %+v", e)
				}
				break
			}
			return 3000, nil
		},
	}
	for first, one := range ways {
		for second, two := range ways {
			in := ingest.Open(path, path)
			for name, way := range []func(*ingest.Input) (int, error){one, two, ways["Entries"]} {
				if n, err := way(in); n != 3000 || err != nil || in.Stats().Files > 2 {
					t.Errorf("%s, %s, Entries: time %d has %d operations, error %v, %+v", first, second, name, n, err,
						in.Stats())
				}
			}
		}
	}
	in := ingest.Options{Stdin: strings.NewReader(entryLine)}.Open("-")
	if names, _, err := read(in); len(names) != 1 || err != nil {
		t.Errorf("%q, error %v", names, err)
	}
	if names, _, err := read(in); len(names) != 0 || err == nil || !strings.Contains(err.Error(),
		"standard input was read before") {
		t.Errorf("the second time: %q, error %v", names, err)
	}
}

// The caller owns the entries.
func TestEntriesStay(t *testing.T) {
	in := ingest.Options{Stdin: strings.NewReader(entryLine + strings.ReplaceAll(entryLine, "matmul",
		"relu"))}.Open("-")
	var kept []*op.Entry
	for e, err := range in.Entries() {
		check.OK(t, err)
		kept = append(kept, e)
	}
	if len(kept) != 2 || kept[0].Operation != "matmul" || kept[1].Operation != "relu" {
		t.Errorf("%+v", kept)
	}
}

func TestInputTakesWhatATruncatedFileHolds(t *testing.T) {
	lines := strings.Repeat(entryLine, 5000)
	for name, content := range map[string][]byte{
		"gzip": check.Gzip(t, lines), "zstd": zstandard(t, lines, lines, lines), "plain": []byte(lines),
	} {
		t.Run(name, func(t *testing.T) {
			cut := content[:len(content)*2/3+7]
			names, bad, err := read(ingest.Open(write(t, filepath.Join(t.TempDir(), "cut"), cut)))
			if err != nil || len(names) == 0 {
				t.Fatalf("%d operations, err = %v", len(names), err)
			}
			if len(bad) != 1 {
				t.Errorf("bad records: %q, want one", bad)
			}
		})
	}
}

func TestInputRefuses(t *testing.T) {
	refused := func(content string) string {
		path := write(t, filepath.Join(t.TempDir(), "input"), []byte(content))
		names, _, err := read(ingest.Open(path))
		if err == nil || !strings.Contains(err.Error(), path) || len(names) > 0 {
			t.Errorf("%.100q: operations %q, error %v, want one with the path", content, names, err)
		}
		return strings.ReplaceAll(fmt.Sprint(err), path, "input")
	}
	golden.Lines(t, "testdata/refused.txt", refused)
	if got := refused(strings.Repeat("\x00", 2<<20)); !strings.Contains(got, `unknown format: starts with "\x00`) {
		t.Errorf("zeros: %s", got)
	}
}

func TestInputRefusesPaths(t *testing.T) {
	empty := t.TempDir()
	good := write(t, filepath.Join(t.TempDir(), "good"), []byte(entryLine))
	for name, path := range map[string]string{"missing": filepath.Join(empty, "missing"), "empty directory": empty} {
		if names, _, err := read(ingest.Open(good, path)); err == nil || len(names) > 0 {
			t.Errorf("%s: %d operations, err = %v; want an error before anything is read", name, len(names), err)
		}
	}
}

func TestInputReportsForeignFilesOfADirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "README"), []byte("about these files"))
	if _, bad, err := read(ingest.Open(dir)); err == nil || len(bad) != 1 {
		t.Errorf("a directory without traces: bad = %q, err = %v", bad, err)
	}
	write(t, filepath.Join(dir, "ops.jsonl"), []byte(entryLine))
	names, bad, err := read(ingest.Open(dir))
	if err != nil || len(names) != 1 || len(bad) != 1 {
		t.Errorf("operations %q, bad %q, err = %v", names, bad, err)
	}
}

func TestInputLimitsExpansion(t *testing.T) {
	zeros := strings.Repeat(" ", (64<<20)+1<<20) + "\n"
	path := write(t, filepath.Join(t.TempDir(), "bomb.zst"), zstandard(t, entryLine+zeros))
	_, _, err := read(ingest.Open(path))
	check.Says(t, "", "times the size", err)
}

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "ingest")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ops.jsonl")
	if err := os.WriteFile(path, []byte(entryLine+"{broken\n"+entryLine), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	in := ingest.Open(path)
	for e, err := range in.Entries() {
		if bad, ok := errors.AsType[*op.SyntaxError](err); ok {
			fmt.Println("line", bad.Line, "could not be read")
			continue
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Operation, e.DeviceID, e.OutputShape, e.Duration, "ns")
	}
	fmt.Println(in.Stats().Formats)
	// Output:
	// matmul cuda:0 2x3 1500 ns
	// line 2 could not be read
	// matmul cuda:0 2x3 1500 ns
	// [entries-jsonl]
}

// A bad entry of a seed trace costs itself at any place: the file is recognised with a damaged start.
func TestInputOfDamagedSeedTrace(t *testing.T) {
	good := `{"step":0,"operation":"relu","duration_us":2.0}`
	for _, bad := range []string{
		`{"step":1,"operation":"a","duration_us":NaN}`, `{"step":1 "operation":"a"}`,
		`{"step":1,"operation":"a","duration_us":2.0,}`, `7`,
	} {
		for at := range 3 {
			entries := []string{good, good, good}
			entries[at] = bad
			text := `{"entries":[` + strings.Join(entries, ",\n") + `],"total_duration_us":4,"metadata":{}}`
			in := ingest.Open(write(t, filepath.Join(t.TempDir(), "trace.json"), []byte(text)))
			names, problems, err := read(in)
			if err != nil || len(names) != 2 || len(problems) != 1 || !strings.Contains(problems[0],
				fmt.Sprintf("entries[%d]", at)) {
				t.Errorf("%s in place %d: %q, problems %q, error %v", bad, at, names, problems, err)
			}
		}
	}
}
