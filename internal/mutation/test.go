package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// outcome is what became of a mutant.
type outcome string

const (
	killed    outcome = "killed"
	lived     outcome = "lived"
	timedOut  outcome = "timed out"
	notViable outcome = "not viable" // does not compile
)

// tester runs a package's tests on mutants.
type tester struct {
	dir     string
	slow    string // tests that are run last
	temp    string // for mutants
	timeout time.Duration
}

// baseline returns an error if the tests fail without a mutant.
func (t *tester) baseline(ctx context.Context) error {
	if out, err := t.goTest(ctx); err != nil {
		return fmt.Errorf("tests fail without a mutant: %w\n%s", err, out)
	}
	return nil
}

func (t *tester) test(ctx context.Context, m mutant) (outcome, error) {
	file, err := filepath.Abs(filepath.Join(t.dir, m.file))
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	source, err = m.apply(source)
	if err != nil {
		return "", err
	}
	replacement := filepath.Join(t.temp, "mutant.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: replacement}})
	if err != nil {
		return "", err
	}
	overlayFile := filepath.Join(t.temp, "overlay.json")
	if err := errors.Join(os.WriteFile(replacement, source, 0o600), os.WriteFile(overlayFile, overlay, 0o600)); err != nil {
		return "", err
	}
	var out []byte
	if t.slow != "" {
		out, err = t.goTest(ctx, "-overlay="+overlayFile, "-skip="+t.slow)
	}
	if err == nil {
		out, err = t.goTest(ctx, "-overlay="+overlayFile)
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return lived, nil
	case bytes.Contains(out, []byte("[build failed]")):
		return notViable, nil
	case bytes.Contains(out, []byte("panic: test timed out")):
		return timedOut, nil
	}
	return killed, nil
}

func (t *tester) goTest(ctx context.Context, flags ...string) ([]byte, error) {
	args := append([]string{"test", "-failfast", "-count=1", "-vet=off", "-timeout=" + t.timeout.String()}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = t.dir
	return cmd.CombinedOutput()
}

func (t *tester) sourceLine(m mutant) string {
	source, err := os.ReadFile(filepath.Join(t.dir, m.file))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.Split(string(source), "\n")[m.line-1])
}

// replacements are the operators that gremlins replaces, by the kind of mutant.
// Longer operators stand first.
var replacements = map[string][][2]string{
	"ARITHMETIC_BASE":       {{"+", "-"}, {"-", "+"}, {"*", "/"}, {"/", "*"}, {"%", "*"}},
	"CONDITIONALS_BOUNDARY": {{"<=", "<"}, {">=", ">"}, {"<", "<="}, {">", ">="}},
	"CONDITIONALS_NEGATION": {{"==", "!="}, {"!=", "=="}, {"<=", ">"}, {">=", "<"}, {"<", ">="}, {">", "<="}},
	"INCREMENT_DECREMENT":   {{"++", "--"}, {"--", "++"}},
	"INVERT_NEGATIVES":      {{"-", "+"}},
}

// apply returns source with the operator at m's position replaced.
func (m mutant) apply(source []byte) ([]byte, error) {
	offset := 0
	for range m.line - 1 {
		offset += bytes.IndexByte(source[offset:], '\n') + 1
	}
	offset += m.column - 1
	for _, r := range replacements[m.kind] {
		if rest, ok := bytes.CutPrefix(source[min(offset, len(source)):], []byte(r[0])); ok {
			return bytes.Join([][]byte{source[:offset], []byte(r[1]), rest}, nil), nil
		}
	}
	return nil, fmt.Errorf("%s:%d:%d: no operator for %s", m.file, m.line, m.column, m.kind)
}
