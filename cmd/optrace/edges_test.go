package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/optrace/optrace/cmd/optrace/internal/convert"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/input"
	"github.com/optrace/optrace/cmd/optrace/internal/output"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/internal/testing/check"
)

const anOperation = `{"operation":"relu","duration_us":1}`

// S7: files of OTLP's other signals, in JSON and in protobuf, are named, with exit code 3.
func TestOtherSignalsAreNamed(t *testing.T) {
	operation := tempInput(t, "in", anOperation)
	files := filesBelow(t, "../../ingest/otlp/testdata/signals", "")
	check.Equal(t, "files", 8, len(files))
	for _, in := range files {
		signal := strings.FieldsFunc(filepath.Base(in), func(r rune) bool { return r == '.' || r == '_' })[0]
		for _, args := range []string{
			"report", "report -json", "report -csv", "convert -to csv", "convert -to entries", "convert -to profile",
			"correlate", "doctor", "diff " + operation,
		} {
			code, out, errs := ran(t, append(strings.Fields(args), in)...)
			if code != exit.BadInput || out == "" || !strings.HasSuffix(errs, in+" holds OTLP "+signal+", not spans\n") {
				t.Errorf("%s, %s: exit code %d, %d bytes, %s", in, args, code, len(out), errs)
			}
		}
		if code, _, errs := ran(t, "report", in, operation); code != exit.OK {
			t.Errorf("%s, beside an operation: exit code %d, %s", in, code, errs)
		}
	}
	damaged := tempInput(t, "in", strings.Repeat(`{"operation":"relu","duration_us":x}`+"\n", 2))
	if code, out, errs := ran(t, "report", damaged); code != exit.BadInput || out == "" ||
		!strings.Contains(errs, "only 2 unreadable records") {
		t.Errorf("damaged: exit code %d, %q, %s", code, out, errs)
	}
}

// S8: binary output does not go to a terminal, and the error shows how to write a file.
func TestTerminalGetsNoBinary(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("needs a terminal: ", err)
	}
	defer terminal.Close()
	in := tempInput(t, "in", anOperation)
	binary := map[string]bool{"perfetto": true, "parquet": true, "pprof": true, "otlp-profiles": true}
	for _, to := range convert.Targets() {
		file := filepath.Join(t.TempDir(), "out")
		if code, _, errs := ran(t, "convert", "-to", to.Name, "-o", file, in); code != exit.OK {
			t.Fatalf("%s: exit code %d, %s", to.Name, code, errs)
		}
		if text, err := os.ReadFile(file); err != nil || bytes.ContainsAny(text,
			"\x00\x01\x02\x1f") != binary[to.Name] {
			t.Errorf("%s is text, or is not: %.40q, %v", to.Name, text, err)
		}
		if !binary[to.Name] {
			continue
		}
		var errs bytes.Buffer
		code := run(t.Context(), []string{"convert", "-to", to.Name, in}, strings.NewReader(""), terminal, &errs)
		if code != exit.WrongUsage || !strings.Contains(errs.String(),
			"unfit for a terminal: give -o FILE, or redirect") {
			t.Errorf("%s: exit code %d, %s", to.Name, code, errs.String())
		}
	}
}

// A terminal gets no control sequences of a recording, in any format, and JSON values stay equal.
func TestConvertToTerminalIsEscaped(t *testing.T) {
	const hostile = "a\u009b31m\u202eb\u0085\U000e0041"
	in := tempInput(t, "in", strings.ReplaceAll(anOperation, "relu", hostile))
	for _, to := range convert.Targets() {
		var text, errs bytes.Buffer
		out := output.To(&text)
		out.Terminal = true
		src := input.Source{Inputs: []string{in}}
		if to.Name == convert.Profile || to.Write(streams.Streams{Err: &errs}, src, out, false, "v") != nil { // binary
			continue
		}
		check.OK(t, out.Flush())
		for _, r := range text.String() {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
				t.Fatalf("%s: %q in %q", to.Name, r, text.String())
			}
		}
		if !strings.Contains(text.String(), "31m") {
			t.Errorf("%s lacks the operation: %s", to.Name, text.String())
		}
	}
}
