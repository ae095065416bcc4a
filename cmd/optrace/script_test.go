package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"optrace": main})
}

// The scripts in testdata/script describe the program by its command lines.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		Setup:         setupJaeger,
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode": exitCode, "link": hardLink, "mode": mode, "samefigures": sameFigures, "samerequests": sameRequests,
			"generate": generate,
		},
		Condition: condition,
	})
}

// exitCode is the script command "exitcode N command…": the command ends with
// that exit code.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N command...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// hardLink is the script command "link OLD NEW".
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

// sameFigures is the script command "samefigures A B": two reports in JSON are
// equal but for the files, formats and bytes that they were made from.
func sameFigures(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: samefigures report report")
	}
	reports := make([]map[string]any, len(args))
	for i, path := range args {
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(path)), &reports[i]))
		input, ok := reports[i]["input"].(map[string]any)
		if !ok {
			ts.Fatalf("%s: no input", path)
		}
		for _, key := range []string{"files", "format", "bytes"} {
			delete(input, key)
		}
	}
	if diff := cmp.Diff(reports[0], reports[1]); diff != "" {
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
