// Mutation runs the tests of a package on mutants of it: copies in which one operator is another one. Mutants that no test
// notices show what the tests do not hold.
//
// It reads the list of mutants that gremlins prints on a dry run from its standard input, takes those that are covered, a
// random sample of them where that is asked for, and prints the mutants that survive and how many were killed. Files of the
// working tree are not changed: go test is told to read the mutant in place of the file. See "make mutation".
package main

import (
	"bufio"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"
)

func main() {
	dir := flag.String("package", ".", "the `directory` of the package")
	files := flag.String("files", `^[^/]+\.go$`, "mutate the files that match `pattern`, relative to the package")
	sample := flag.Int("sample", 0, "test `n` mutants, chosen at random; 0 means all")
	seed := flag.Uint64("seed", 1, "seed of the choice")
	slow := flag.String("slow", "", "tests that match `pattern` are run on the mutants that survive the others")
	timeout := flag.Duration("timeout", time.Minute, "a mutant whose tests take longer is killed")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, os.Stdin, tester{dir: *dir, slow: *slow, timeout: *timeout}, *files, *sample, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, list io.Reader, t tester, files string, sample int, seed uint64) error {
	match, err := regexp.Compile(files)
	if err != nil {
		return err
	}
	all, err := readMutants(list, match)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("no mutants of %s in the list", t.dir)
	}
	chosen := choose(all, sample, seed)
	temp, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	t.temp = temp
	if err := t.baseline(ctx); err != nil {
		return err
	}
	counts := make(map[outcome]int)
	for _, m := range chosen {
		o, err := t.test(ctx, m)
		if ctx.Err() != nil {
			break // those that were tested are a sample too
		}
		if err != nil {
			return err
		}
		counts[o]++
		if o == lived {
			fmt.Printf("LIVED %s:%d:%d %s\t%s\n", filepath.Join(t.dir, m.file), m.line, m.column, m.kind, t.sourceLine(m))
		}
	}
	judged := counts[killed] + counts[timedOut] + counts[lived]
	fmt.Printf("%s: %d covered mutants, %d tested (seed %d): %d killed, %d timed out, %d survived, %d do not compile: %.1f %% killed\n",
		t.dir, len(all), judged+counts[notViable], seed, counts[killed], counts[timedOut], counts[lived], counts[notViable],
		100*float64(judged-counts[lived])/float64(max(judged, 1)))
	return nil
}

// choose returns n of the mutants, or all where n is 0, in random order.
func choose(all []mutant, n int, seed uint64) []mutant {
	chosen := slices.Clone(all)
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	if n > 0 {
		chosen = chosen[:min(n, len(chosen))]
	}
	return chosen
}

// mutant is an operator of a file, and what gremlins makes of it.
type mutant struct {
	file         string
	line, column int
	kind         string
}

func compare(a, b mutant) int {
	return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column), cmp.Compare(a.kind, b.kind))
}

// signs is the kind of mutants that gremlins lists beside those of the same
// operator as arithmetic.
const signs = "INVERT_NEGATIVES"

var runnable = regexp.MustCompile(`^\s*RUNNABLE (\S+) at (\S+):(\d+):(\d+)$`)

// readMutants returns the covered mutants of the files that match, in order. A
// sign that gremlins lists as an operator too is one mutant.
func readMutants(list io.Reader, files *regexp.Regexp) ([]mutant, error) {
	var all []mutant
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		found := runnable.FindStringSubmatch(lines.Text())
		if found == nil || !files.MatchString(found[2]) {
			continue
		}
		m := mutant{kind: found[1], file: found[2]}
		if _, err := fmt.Sscan(found[3], &m.line); err != nil {
			return nil, err
		}
		if _, err := fmt.Sscan(found[4], &m.column); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	slices.SortFunc(all, compare)
	all = slices.CompactFunc(all, func(a, b mutant) bool {
		return a.file == b.file && a.line == b.line && a.column == b.column && (a.kind == signs || b.kind == signs)
	})
	return all, lines.Err()
}
