package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"log"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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

// generate is the script command "generate FILE FACTOR": it writes a run of 20 steps, with random durations seeded by
// the file's name; the durations of matmul are multiplied by the factor.
func generate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: generate file factor")
	}
	factor, err := strconv.ParseFloat(args[1], 64)
	ts.Check(err)
	seed := fnv.New64()
	_, _ = seed.Write([]byte(args[0]))
	rng := rand.New(rand.NewPCG(seed.Sum64(), 0))
	var lines strings.Builder
	at := int64(1_795_347_274_000_000_000)
	for step := range 20 {
		for _, o := range []struct {
			name string
			ns   float64
		}{{"matmul", 120_000 * factor}, {"relu", 9000}, {"all_reduce", 60_000}} {
			ns := int64(o.ns * math.Exp(0.03*rng.NormFloat64()))
			fmt.Fprintf(&lines,
				`{"step":%d,"operation":%q,"device_id":"cuda:0","start_unix_ns":%d,"duration_ns":%d}`+"\n", step,
				o.name, at, ns)
			at += ns + 2000
		}
		at += 15_000
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(lines.String()), 0o644))
}

// setupJaeger gives a script a server with recorded answers, at $JAEGER, and the recorded answers, in $ANSWERS. The
// first part of the path selects the server's behaviour:
//
//	/v3       has both versions of the API
//	/v1       has version 1 only
//	/empty    has no traces
//	/nan      fails on a non-finite number, with version 1 only
//	/html     answers everything with a page
//	/cut      cuts its answers off
//	/hang     does not answer
//	/pruned   answers with pruned.json of the script
func setupJaeger(answers string) func(*testscript.Env) error {
	return func(env *testscript.Env) error {
		server := httptest.NewServer(recordedJaeger(answers, env.WorkDir))
		env.Defer(server.Close)
		env.Setenv("JAEGER", server.URL)
		env.Setenv("ANSWERS", answers)
		return nil
	}
}

// recordedJaeger answers with the files of a directory.
func recordedJaeger(answers, work string) http.Handler {
	file := func(w http.ResponseWriter, status int, path ...string) {
		w.WriteHeader(status)
		text, _ := os.ReadFile(filepath.Join(path...)) // the script shows missing files
		_, _ = w.Write(text)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mode, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		v3 := strings.HasPrefix(path, "api/v3/")
		version := ".v1.json"
		if v3 {
			version = ".v3.json"
		}
		kind, id, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, "api/"), "v3/"), "/")
		switch {
		case kind != "traces" || mode == "html" || v3 && (mode == "v1" || mode == "nan"):
			file(w, http.StatusOK, answers, "page.html")
		case mode == "hang":
			<-r.Context().Done()
		case mode == "pruned":
			file(w, http.StatusOK, work, "pruned.json")
		case mode == "nan":
			file(w, http.StatusInternalServerError, answers, "nan.v1.json")
		case mode == "cut":
			_, _ = w.Write([]byte(`{"result":{"resourceSpans":[{"resource":`))
		case mode == "empty" && id == "" && !v3:
			_, _ = w.Write([]byte(`{"data":[],"total":0,"limit":0,"offset":0,"errors":null}`))
		case id == "" && mode != "empty":
			file(w, http.StatusOK, answers, "search"+version)
		case id == "896a370a13c0896250b9a5d5d164fe9d" && mode != "empty":
			file(w, http.StatusOK, answers, "trace"+version)
		default:
			file(w, http.StatusNotFound, answers, "unknown"+version)
		}
	})
}

// slowEnd is an input that takes some time to end.
type slowEnd struct{ before time.Time }

// Read returns the end of the input.
func (e *slowEnd) Read([]byte) (int, error) {
	e.before = time.Now()
	time.Sleep(5 * time.Millisecond)
	return 0, io.EOF
}

// The search of Jaeger covers the time during which the input was read.
func TestSearchAfterInput(t *testing.T) {
	var until time.Time
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to, err := time.Parse(time.RFC3339Nano, r.URL.Query().Get("query.start_time_max")); err == nil {
			until = to
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	in := new(slowEnd)
	run(t.Context(), []string{"correlate", "-jaeger", server.URL, "-service", "api", "-"}, in, io.Discard, io.Discard)
	if in.before.IsZero() || until.Before(in.before) {
		t.Errorf("searched until %v, the input ended after %v", until, in.before)
	}
}
