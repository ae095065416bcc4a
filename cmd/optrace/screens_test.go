package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/causes"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
)

// The recordings of demo are a trace of ingest/kineto, recorded by record.py there, and a run of the simulator of
// package causes. Both take less than 300 KB.
func TestDemoRecordings(t *testing.T) {
	gpu := check.Must(recordings.ReadFile("demo/gpu.json.gz"))(t)
	if !bytes.Equal(gpu, check.Must(os.ReadFile("../../ingest/kineto/testdata/h100/allocator.json.gz"))(t)) {
		t.Error("gpu.json.gz is not the trace of ingest/kineto")
	}
	packed := check.Must(recordings.ReadFile("demo/server.jsonl.gz"))(t)
	var want bytes.Buffer
	check.OK(t, causes.Write(&want, "long_prompt", causes.Server, false, 0.3, 1))
	unpacked := check.Must(gzip.NewReader(bytes.NewReader(packed)))(t)
	if got := check.Must(io.ReadAll(unpacked))(t); !bytes.Equal(got, want.Bytes()) {
		t.Error("server.jsonl.gz is not what examples/causes -cause long_prompt -layout server -strength 0.3 writes")
	}
	if n := len(gpu) + len(packed); n >= 300_000 {
		t.Errorf("%d bytes", n)
	}
}

// unsaid lists the traces whose first screen does not yet say what an expert would.
var unsaid []string

// The first screen of real traces fits 30 lines and says what an expert would, by patterns of what must and must not
// stand there.
func TestFirstScreenSaysWhatAnExpertWould(t *testing.T) {
	for _, list := range []string{"testdata/expert.json", recorded + "/expert/expert.json"} {
		text, err := os.ReadFile(list)
		if err != nil && strings.HasPrefix(list, recorded) {
			t.Skipf("needs the recorded traces in %s", recorded)
		}
		check.OK(t, err)
		var cases []struct {
			File, At string
			Must     []string
			MustNot  []string `json:"must_not"`
		}
		check.OK(t, json.Unmarshal(text, &cases))
		for _, c := range cases {
			t.Run(c.File, func(t *testing.T) {
				screen := succeeds(t, "report", "-width", "80", filepath.Join("../..", c.At))
				says := func(pattern string) bool { return regexp.MustCompile(pattern).MatchString(screen) }
				wrong := slices.DeleteFunc(c.Must, says)
				wrong = append(wrong, slices.DeleteFunc(c.MustNot, func(p string) bool { return !says(p) })...)
				if strings.Count(screen, "\n") > 30 {
					wrong = append(wrong, "(length)")
				}
				if isUnsaid := slices.Contains(unsaid, c.File); isUnsaid != (len(wrong) > 0) {
					t.Errorf("listed in unsaid: %t; wrong by %q:\n%s", isUnsaid, wrong, screen)
				}
			})
		}
	}
}

// Texts about one thing are in the singular.
func TestOneIsSingular(t *testing.T) {
	plural := regexp.MustCompile(`(?m)^.*(?:^|[ (])1 (?:[a-z]+ )?(?:operations|spans|entries|requests|others|steps|records|` +
		`files|tests|devices|times|streams|calls|links|products|runs|batches)\b.*$`)
	files := filesBelow(t, "testdata/figures", ".jsonl")
	for path := range cases.Of(t, 20, files) {
		for _, args := range [][]string{
			{"report", "-section", "all"}, {"report"}, {"doctor"}, {"correlate"}, {"diff", path},
		} {
			_, out, errs := ran(t, append(args, path)...)
			if wrong := plural.FindString(out + errs); wrong != "" {
				t.Errorf("%v %s: %q", args, path, wrong)
			}
		}
	}
}

// screen matches a block of a page with command lines and what the last one prints.
var screen = regexp.MustCompile("(?ms)^```\n((?:\\$ optrace [^\n]+\n)+)(.*?)^```$")

// The pages for newcomers show what the commands print, with ops.jsonl of testdata as the file of the engine.
func TestPagesShowWhatIsPrinted(t *testing.T) {
	ops := check.Must(os.ReadFile("testdata/ops.jsonl"))(t)
	for _, page := range []string{"start-go", "start-traces", "start-otel"} {
		path := check.Must(filepath.Abs("../../docs/" + page + ".md"))(t)
		t.Run(page, func(t *testing.T) {
			t.Chdir(t.TempDir())
			check.OK(t, os.WriteFile("ops.jsonl", ops, 0o600))
			text := string(check.Must(os.ReadFile(path))(t))
			block := screen.FindStringSubmatch(text)
			if block == nil {
				t.Fatal("no screen")
			}
			printed := ""
			for line := range strings.Lines(block[1]) {
				printed += succeeds(t, strings.Fields(line)[2:]...)
			}
			golden.Check(t, path, strings.Replace(text, block[0], "```\n"+block[1]+printed+"```", 1))
		})
	}
}

// The entry for the registry of the Model Context Protocol is of this release, and keeps the registry's limits.
func TestRegistryEntry(t *testing.T) {
	var entry struct {
		Name, Description, Version string
		Packages                   []struct{ RegistryType, Identifier, Version string }
	}
	check.OK(t, json.Unmarshal(check.Must(os.ReadFile("../../docs/upstream/server.json"))(t), &entry))
	tracer := string(check.Must(os.ReadFile("../../tracer.go"))(t))
	module := string(check.Must(os.ReadFile("go.mod"))(t))
	p := entry.Packages[0]
	if !strings.Contains(tracer, `const Version = "`+entry.Version+`"`) || p.Version != "v"+entry.Version ||
		!strings.HasPrefix(module, "module "+p.Identifier+"\n") || p.RegistryType != "go" ||
		len(entry.Description) > 100 || strings.TrimPrefix(entry.Name, "io.") != "github.optrace/optrace" {
		t.Errorf("%+v", entry)
	}
}
