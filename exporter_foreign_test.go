package optrace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

// Files of something else are refused, and stay as they are.
func TestW3ForeignFilesAreRefused(t *testing.T) {
	for name, content := range map[string]string{
		"notes":     "# Hi\nmy notes are here, and they are long enough\n",
		"program":   "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00",
		"table":     "step,operation\n1,matmul\n",
		"document":  "{\n  \"name\": \"optrace\",\n  \"step\": 1\n}\n",
		"JSON list": `[{"step":1}]`,
		"Parquet":   "PAR1\x15\x04\x15\x80\x01\x15\x80PAR1",
		"log":       "2026-01-01 hello\n2026-01-02 bye\n",
		"other OTLP": `{"resourceLogs":[]}
`,
		"zeros": string(make([]byte, 5000)),
	} {
		for _, o := range outputs() {
			t.Run(name+" "+o.String(), func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "ops.x")
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				exp, err := optrace.NewFileExporter(path, o.fileOptions()...)
				if err == nil {
					t.Error("the file is accepted")
					_ = exp.ExportSpans(t.Context(), spantest.Operations(1))
					_ = exp.Shutdown(t.Context())
				}
				// One that comes later is refused as well.
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				exp = newFile(t, path, o.fileOptions()...)
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := exp.ExportSpans(t.Context(), spantest.Operations(1)); err == nil {
					t.Error("the file is written to")
				}
				_ = exp.Shutdown(t.Context())
				if st := exp.Stats(); st.Dropped != 1 {
					t.Errorf("stats %+v", st)
				}
				if names, contents := files(t, dir); len(names) != 1 || string(contents[0]) != content {
					t.Errorf("files %q have changed", names)
				}
			})
		}
	}
}

// A file of the exporter's own that is damaged stays as it is, and a new one is
// begun beside it.
func TestW3DamagedFilesStayAsTheyAre(t *testing.T) {
	for _, o := range outputs() {
		whole := bytes.Join([][]byte{o.batchOf(t, 2), o.batchOf(t, 3), o.batchOf(t, 2)}, nil)
		second := len(o.batchOf(t, 2))
		for name, damage := range map[string]func(text []byte){
			"first length": func(text []byte) { text[0] ^= 0x80 },
			"later length": func(text []byte) { text[second+1] ^= 1 },
			"start":        func(text []byte) { clear(text[:40]) },
		} {
			if o.compression != optrace.CompressionNone || o.lines() != (name == "start") {
				continue
			}
			t.Run(o.String()+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "ops.x")
				text := bytes.Clone(whole)
				damage(text)
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
				exp := newFile(t, path, o.fileOptions()...)
				export(t, exp, spantest.Operation(9).Snapshot())
				if err := exp.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				names, contents := files(t, dir)
				if len(names) != 2 || !bytes.Equal(contents[0], text) {
					t.Fatalf("files %q, want the damaged one as it was and another", names)
				}
				if diff := cmp.Diff([]int64{9}, o.steps(t, contents[1], 0)); diff != "" {
					t.Errorf("entries (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// The file is the one that its path meant when the exporter was made, wherever the
// process goes.
func TestW6RelativePathAndChdir(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	t.Chdir(from)
	exp := newFile(t, "ops.jsonl", optrace.WithRotation(optrace.Rotation{MaxBytes: 1}))
	t.Chdir(to)
	for i := range 3 {
		export(t, exp, spantest.Operation(i).Snapshot())
	}
	if err := exp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names, _ := files(t, to); len(names) != 0 {
		t.Errorf("files %q where the process went", names)
	}
	if names, _ := files(t, from); len(names) != 3 {
		t.Errorf("files %q, want 3", names)
	}
}
