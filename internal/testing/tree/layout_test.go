//go:build tree

package tree

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

// edit replaces a text that occurs once in a file.
type edit struct{ file, old, new string }

const (
	values  = "attribute/value.go"
	arrays  = "attribute/internal/attribute.go"
	asSlice = "func AsSlice[T sliceElem](v any) []T {\n"
)

// layouts are changes of OpenTelemetry's attribute.Value.
var layouts = []struct {
	name  string
	known bool // span.LayoutKnown
	edits []edit
}{
	{"a field behind the list", false, []edit{{values, "\tslice    any\n", "\tslice    any\n\textra    uint64\n"}}},
	{"a field in front", false, []edit{{values, "\tvtype    Type\n", "\textra    uint64\n\tvtype    Type\n"}}},
	{"lists behind pointers", false, []edit{
		{arrays, "\tswitch len(v) {\n",
			"\tif v = append([]T{}, v...); v != nil {\n\t\treturn &v\n\t}\n\tswitch len(v) {\n"},
		{arrays, asSlice, asSlice + "\tif p, ok := v.(*[]T); ok {\n\t\treturn append([]T{}, *p...)\n\t}\n"},
	}},
	{"numbers beside texts", false, []edit{{
		values, "\t\tvtype:    STRING,\n", "\t\tvtype:    STRING,\n\t\tnumeric:  uint64(len(v)),\n",
	}}},
	{"texts that a method copies", true, []edit{{
		values, "AsString() string {\n\treturn v.stringly\n",
		"AsString() string {\n\treturn strings.Clone(v.stringly)\n",
	}}},
	{"the list in front of the text", false, []edit{
		{values, "\tstringly string\n\tslice    any\n", "\tslice    any\n\tstringly string\n"},
	}},
}

// Recordings are correct with any layout of attribute.Value, although this module reads its memory.
func TestLayoutsOfValues(t *testing.T) {
	for layout := range cases.Of(t, 3, layouts) {
		t.Run(layout.name, func(t *testing.T) {
			dir := t.TempDir()
			program := buildWith(t, layout.edits)
			text := check.Must(exec.CommandContext(t.Context(), program, dir).Output())(t)
			var got struct {
				Stats  map[string]optrace.Stats
				Memory int
				Known  bool
			}
			check.OK(t, json.Unmarshal(text, &got))
			check.Equal(t, "the layout is known", layout.known, got.Known)
			check.Equal(t, "bytes of lists and texts", 10+16+32+16+9, got.Memory)
			want := make(map[string]int)
			for _, way := range []string{"started", "prepared", "recorded"} {
				for n := range 4 {
					want[fmt.Sprintf("%s [%dx8] %d", way, n+1, n+1)] = 1000
				}
			}
			check.Equal(t, "formats", 3, len(got.Stats))
			for format, stats := range got.Stats {
				check.Equal(t, format, want, operations(t, filepath.Join(dir, format)))
				check.Equal(t, format+": Stats", optrace.Stats{Recorded: 12_000, Written: 12_000}, stats)
			}
		})
	}
}

// operations counts the operations in a file by names and shapes.
func operations(t *testing.T, path string) map[string]int {
	t.Helper()
	n := make(map[string]int)
	for rec, err := range ingest.Open(path).Records() {
		check.OK(t, err)
		if e := rec.Entry; e != nil {
			n[fmt.Sprintf("%s %v %v", e.Operation, e.InputShapes, e.OutputShape)]++
		}
	}
	return n
}

// buildWith builds testdata/layout with an edited copy of OpenTelemetry's module.
func buildWith(t *testing.T, edits []edit) (program string) {
	t.Helper()
	const path = "go.opentelemetry.io/otel"
	dir := t.TempDir()
	source := strings.TrimSpace(string(check.Must(exec.Command("go", "list", "-m", "-f", "{{.Dir}}",
		path).Output())(t)))
	for _, f := range check.Must(os.ReadDir(source))(t) { // other folders need no copy
		if f.Name() != "attribute" {
			check.OK(t, os.Symlink(filepath.Join(source, f.Name()), filepath.Join(dir, f.Name())))
		}
	}
	check.OK(t, os.CopyFS(filepath.Join(dir, "attribute"), os.DirFS(filepath.Join(source, "attribute"))))
	for _, e := range edits {
		file := filepath.Join(dir, e.file)
		text := readFile(t, file)
		if strings.Count(text, e.old) != 1 {
			t.Fatalf("%s has not once %q", e.file, e.old)
		}
		check.OK(t, os.Chmod(file, 0o600))
		check.OK(t, os.WriteFile(file, []byte(strings.Replace(text, e.old, e.new, 1)), 0o600))
	}
	goMod := filepath.Join(t.TempDir(), "go.mod")
	check.OK(t, os.WriteFile(goMod, []byte(readFile(t, "go.mod")+"\nreplace "+path+" => "+dir+"\n"), 0o600))
	check.OK(t, os.WriteFile(strings.TrimSuffix(goMod, "mod")+"sum", []byte(readFile(t, "go.sum")), 0o600))
	program = filepath.Join(filepath.Dir(goMod), "layout")
	const main = "./internal/testing/tree/testdata/layout"
	build := exec.CommandContext(t.Context(), "go", "build", "-modfile", goMod, "-o", program, main)
	build.Env = append(os.Environ(),
		"GOWORK=off", "GOPROXY=off", "CGO_ENABLED=0", "GOFLAGS=-mod=mod -trimpath -buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}
