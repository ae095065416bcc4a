package kineto

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/program"
)

// Both layouts are the same JSON, with as many events as were asked for.
func TestWriteFile(t *testing.T) {
	const n = 5000
	var texts []string
	for _, l := range []layout{indented, compact} {
		path := filepath.Join(t.TempDir(), "trace.json")
		sum, err := writeFile(path, l, n)
		if err != nil {
			t.Fatal(err)
		}
		if sum != summarise(n) {
			t.Errorf("%s: %+v, but summarised %+v", l, sum, summarise(n))
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			TraceEvents []json.RawMessage `json:"traceEvents"`
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		if got := len(doc.TraceEvents); int64(got) != sum.events || got < n || got > n+10 {
			t.Errorf("%s: %d events, %+v", l, got, sum)
		}
		all, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(all))
	}
	if texts[0] != texts[1] {
		t.Error("the layouts differ in more than white space")
	}
}

func TestCheckReport(t *testing.T) {
	sum := summary{hostOps: 2, deviceOps: 1, ns: 30}
	for text, want := range map[string]string{
		`{"operations":[{"count":2,"sum_ns":10},{"count":1,"sum_ns":20}]}`: "",
		`{"operations":[{"count":3,"sum_ns":31}]}`:                         "31 ns",
		`optrace: broken`: "the report",
	} {
		if err := checkReport([]byte(text), sum); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestSides runs both processes on a small trace.
func TestSides(t *testing.T) {
	cases.Rare(t)
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	dir := t.TempDir()
	command := program.Optrace(t, "../..")
	for _, l := range []layout{indented, compact} {
		path := filepath.Join(dir, "trace.json")
		sum, err := writeFile(path, l, 3000)
		if err != nil {
			t.Fatal(err)
		}
		open := newSides(interpreter, command, path, l, sum)
		for name, side := range open.Sides {
			s, err := side(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if s.N != sum.events || s.CPU <= 0 {
				t.Errorf("%s: %+v", name, s)
			}
		}
		sum.ns++
		if _, err := newSides(interpreter, command, path, l, sum).Sides[ours](t.Context()); err == nil {
			t.Error("a wrong report is no error")
		}
	}
}
