// Package cases decides how many of its cases a test runs. Only tests import it.
//
// A test with many cases (offsets, seeds, rounds, formats times faults) runs a part of them by default,
// the same part each time. The environment variable OPTRACE_CASES is the only switch:
//
//	OPTRACE_CASES=        the part for daily work: make test
//	OPTRACE_CASES=all     every case: make campaign
//	OPTRACE_CASES=1f3a    as many as by default, chosen by this text, such as the
//	hash of a commit, so that many commits cover all cases
//
// A test logs how many of its cases it ran. If OPTRACE_CASES_LOG names a file, each test also appends a
// line "part total package test" to it. make test prints the sum.
package cases

import (
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	switchName = "OPTRACE_CASES"
	logName    = "OPTRACE_CASES_LOG"
	all        = "all"
)

// All reports whether every case is to run.
func All() bool { return os.Getenv(switchName) == all }

// Count returns few, or total if every case is to run. Use it for repetitions and sizes: rounds, kills, spans, bytes.
func Count(t testing.TB, few, total int) int {
	t.Helper()
	n := min(few, total)
	if All() {
		n = total
	}
	report(t, n, total)
	return n
}

// Some yields few of the numbers from 0 to total-1 in rising order, or all of them. Three or more include
// the first, the last, and a random one from each of equal ranges between them.
func Some(t testing.TB, few, total int) iter.Seq[int] {
	t.Helper()
	n := Count(t, few, total)
	return func(yield func(int) bool) {
		r := source(t.Name())
		between := func(from, to, parts int) bool {
			for i := range parts {
				low := from + i*(to-from)/parts
				high := from + (i+1)*(to-from)/parts
				if !yield(low + r.IntN(high-low)) {
					return false
				}
			}
			return true
		}
		if n < 3 {
			between(0, total, n)
			return
		}
		_ = yield(0) && between(1, total-1, n-2) && yield(total-1)
	}
}

// Of yields few elements of list, chosen like the numbers of Some, or all of them.
func Of[E any](t testing.TB, few int, list []E) iter.Seq[E] {
	t.Helper()
	numbers := Some(t, few, len(list))
	return func(yield func(E) bool) {
		for i := range numbers {
			if !yield(list[i]) {
				return
			}
		}
	}
}

// Twentieth returns the default part of total: a twentieth, but at least 3.
func Twentieth(total int) int { return min(total, max(3, total/20)) }

// Numbers yields a twentieth of the numbers below total, or all of them, as seeds of random inputs.
func Numbers(t testing.TB, total int) iter.Seq[uint64] {
	t.Helper()
	numbers := Some(t, Twentieth(total), total)
	return func(yield func(uint64) bool) {
		for i := range numbers {
			if !yield(uint64(i)) {
				return
			}
		}
	}
}

// Seeds runs a property for a twentieth of total random sources, or for all of them.
func Seeds(t testing.TB, total int, run func(seed uint64, r *rand.Rand)) {
	t.Helper()
	Inputs(t, Twentieth(total), total, run)
}

// Inputs runs a property for few of total random sources, or for all of them.
func Inputs(t testing.TB, few, total int, run func(seed uint64, r *rand.Rand)) {
	t.Helper()
	for seed := range Some(t, few, total) {
		run(uint64(seed), rand.New(rand.NewPCG(uint64(seed), 0)))
	}
}

// Rare skips a slow test, unless every case is to run or the text of the switch chooses it. One of five texts does.
func Rare(t testing.TB) {
	t.Helper()
	if text := os.Getenv(switchName); text != all && (text == "" || source(t.Name()).IntN(5) > 0) {
		report(t, 0, 1)
		t.Skipf("takes seconds; %s=%s runs it", switchName, all)
	}
}

// source returns a generator for the cases of a test.
func source(test string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(os.Getenv(switchName) + "\x00" + test))
	return rand.New(rand.NewPCG(h.Sum64(), 0))
}

var appending sync.Mutex

// report logs the number of cases.
func report(t testing.TB, n, total int) {
	t.Helper()
	if n == total {
		return
	}
	t.Logf("%d of %d cases (%s=%s for all)", n, total, switchName, all)
	path := os.Getenv(logName)
	if path == "" {
		return
	}
	appending.Lock()
	defer appending.Unlock()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(f, "%d %d %s %s\n", n, total, strings.TrimSuffix(filepath.Base(os.Args[0]), ".test"), t.Name())
	if cerr := f.Close(); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
}

// NotUnderRace skips a test under the race detector and logs why: it measures memory or allocations, which
// the detector changes, or it has one goroutine and takes minutes.
func NotUnderRace(t testing.TB, why string) {
	t.Helper()
	if Race {
		t.Skip(why)
	}
}

// OneGoroutine is the reason of slow tests with one goroutine.
const OneGoroutine = "one goroutine: minutes under the race detector tell nothing of races"
