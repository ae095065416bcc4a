package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
)

// TestMain runs the program itself if the test binary is called optrace, by a link on the PATH of the tests.
func TestMain(m *testing.M) {
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "optrace" {
		main()
	}
	os.Exit(withProgram(m.Run))
}

// withProgram calls f with the program optrace on the PATH.
func withProgram(f func() int) int {
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "optrace-test")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "optrace")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := os.Symlink(self, program); err != nil {
		log.Fatal(err)
	}
	if err := os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		log.Fatal(err)
	}
	return f()
}

// The scripts in testdata/script describe the program by its command lines. "optrace" runs within the process of the
// test, "exec optrace" in its own, with the environment and the standard input of the script.
func TestScripts(t *testing.T) {
	dir := check.Must(filepath.Abs("testdata/script"))(t)
	testscript.Run(t, testscript.Params{
		Dir:           dir,
		Setup:         setupJaeger(filepath.Join(filepath.Dir(dir), "jaeger")),
		UpdateScripts: *golden.Update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"optrace": func(ts *testscript.TestScript, neg bool, args []string) {
				if code := runScripted(ts, args); (code != exit.OK) != neg {
					ts.Fatalf("exit code %d", code)
				}
			},
			"exitcode": exitCode, "link": hardLink, "mode": mode, "same": same, "generate": generate,
		},
		Condition: condition,
	})
}

// workingDirectory is held while the process is in the directory of a script.
var workingDirectory sync.Mutex

// runScripted runs a command line in the directory of a script and returns the exit code.
func runScripted(ts *testscript.TestScript, args []string) int {
	workingDirectory.Lock()
	defer workingDirectory.Unlock()
	before, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer func() { ts.Check(os.Chdir(before)) }()
	return run(context.Background(), args, strings.NewReader(""), ts.Stdout(), ts.Stderr())
}

// exitCode is the script command "exitcode N args…": optrace with these arguments ends with exit code N.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: exitcode N args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := runScripted(ts, args[1:]); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func hardLink(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: link old new")
	}
	ts.Check(os.Link(ts.MkAbs(args[0]), ts.MkAbs(args[1])))
}

// mode is the script command "mode PERM FILE": the file has these permissions.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode perm file")
	}
	want, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := info.Mode().Perm(); got != fs.FileMode(want) {
		ts.Fatalf("%s has mode %04o, want %04o", args[1], got, want)
	}
}

// same is the script command "same A B KEY…": two reports in JSON are equal apart from values of the keys.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: same report report key...")
	}
	var reports [2]map[string]any
	for i := range reports {
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[i])), &reports[i]))
	}
	aside := cmpopts.IgnoreMapEntries(func(key string, _ any) bool { return slices.Contains(args[2:], key) })
	if diff := cmp.Diff(reports[0], reports[1], aside); diff != "" {
		ts.Fatalf("the reports differ (-%s +%s):\n%s", args[0], args[1], diff)
	}
}

// condition is the script condition [exists:PATH].
func condition(cond string) (bool, error) {
	path, ok := strings.CutPrefix(cond, "exists:")
	if !ok {
		return false, fmt.Errorf("unknown condition %q", cond)
	}
	_, err := os.Stat(path)
	return err == nil, nil
}

// ran runs a command line and returns its exit code and output.
func ran(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// succeeds runs a command line, requires success, and returns its output.
func succeeds(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := ran(t, args...)
	if code != exit.OK {
		t.Fatalf("%q: exit code %d\n%s", args, code, errs)
	}
	return out
}
