package optrace_test

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

// limitedChild tells a process that it is the one of [inLimitedChild].
const limitedChild = "OPTRACE_TEST_LIMITED_CHILD"

// inLimitedChild reports whether this process may limit the size of its files. The
// limit holds for all files of a process, those of the test runner among them: where
// it may not, the test is run in a process of its own.
func inLimitedChild(t *testing.T) bool {
	t.Helper()
	if os.Getenv(limitedChild) != "" {
		signal.Ignore(syscall.SIGXFSZ)
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), limitedChild+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// setFileSizeLimit sets how large this process may make files and returns the
// limit before.
func setFileSizeLimit(t *testing.T, limit uint64) (before uint64) {
	t.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		t.Fatal(err)
	}
	before, l.Cur = l.Cur, limit
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		t.Fatal(err)
	}
	return before
}
