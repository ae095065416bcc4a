// Command faults makes things go wrong around recording, for as long as it is told to,
// and keeps the books: what was said to be safe must be found.
//
// Usage:
//
//	go run -C bench ./faults [-for 5m] [-seed N] [-only kills,limits] [-dir DIR]
//
// Rounds of the faults take turns:
//
//   - kills: processes write to one file, rotate it, and are killed;
//   - moves: the file is renamed under them, again and again;
//   - removals: the file is removed or emptied under them;
//   - limits: files may not grow beyond a size, and somebody makes room;
//   - disks: the same on a file system of a mebibyte, where one may be mounted.
//
// The exit status is 1 where a promise of docs/reliability.md was broken. The
// directories of such rounds are kept. A seed makes the same choices, though not
// the same moments.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/optrace/optrace/internal/producer"
)

func main() {
	producer.Main()
	var (
		duration = flag.Duration("for", 5*time.Minute, "how `long`")
		seed     = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of the choices")
		only     = flag.String("only", "", "comma-separated `names` of faults, all by default")
		dir      = flag.String("dir", "", "`directory` for the files, a temporary one by default")
	)
	flag.Parse()
	chosen, err := choose(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c := &campaign{rng: rand.New(rand.NewPCG(*seed, 0)), parent: *dir}
	fmt.Printf("seed %d\n", *seed)
	if err := c.run(ctx, chosen, *duration); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
	if c.print(os.Stdout) > 0 {
		os.Exit(1)
	}
}

// A fault is something that goes wrong. A round of it happens in an empty directory.
type fault struct {
	name string
	run  func(ctx context.Context, c *campaign, r *round) error
}

var faults = []fault{
	{"kills", kills},
	{"moves", moves},
	{"removals", removals},
	{"limits", limits},
	{"disks", disks},
}

func choose(names string) ([]fault, error) {
	if names == "" {
		return faults, nil
	}
	var chosen []fault
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(faults, func(f fault) bool { return f.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no fault %q", name)
		}
		chosen = append(chosen, faults[i])
	}
	return chosen, nil
}

type campaign struct {
	rng    *rand.Rand
	parent string // of the rounds' directories
	books  []book
}

type book struct {
	name                    string
	rounds, faults          int
	recorded, written, lost int64 // as the recording processes say
	missing                 int64 // of those that were said to be safe
	unread                  int   // records that cannot be read
	broken                  []string
	skipped                 string
}

// round is one round: what happened, and the promises that did not hold.
type round struct {
	book
	dir string
}

func (r *round) breaks(format string, args ...any) {
	r.broken = append(r.broken, fmt.Sprintf(format, args...))
}

func (c *campaign) run(ctx context.Context, chosen []fault, duration time.Duration) (err error) {
	dir, err := os.MkdirTemp(c.parent, "optrace-faults-")
	if err != nil {
		return err
	}
	defer func() {
		if c.broken() == 0 {
			_ = os.RemoveAll(dir)
		}
	}()
	for _, f := range chosen {
		c.books = append(c.books, book{name: f.name})
	}
	for end := time.Now().Add(duration); time.Now().Before(end) && ctx.Err() == nil; {
		for i, f := range chosen {
			if ctx.Err() != nil || c.books[i].skipped != "" {
				continue
			}
			if err := c.round(ctx, f, &c.books[i], dir); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
	}
	return nil
}

// round runs a round of f and adds it to b.
func (c *campaign) round(ctx context.Context, f fault, b *book, parent string) error {
	dir, err := os.MkdirTemp(parent, f.name+"-")
	if err != nil {
		return err
	}
	r := &round{dir: dir}
	if err := f.run(ctx, c, r); err != nil {
		return err
	}
	if r.skipped == "" && ctx.Err() == nil {
		b.add(r)
	}
	b.skipped = r.skipped
	if len(r.broken) == 0 {
		return os.RemoveAll(dir)
	}
	fmt.Printf("%s: kept in %s\n  %s\n", f.name, dir, strings.Join(r.broken, "\n  "))
	return nil
}

func (b *book) add(r *round) {
	b.rounds++
	b.faults += r.faults
	b.recorded += r.recorded
	b.written += r.written
	b.lost += r.lost
	b.missing += r.missing
	b.unread += r.unread
	b.broken = append(b.broken, r.broken...)
}

// broken returns how many promises did not hold.
func (c *campaign) broken() (n int) {
	for _, b := range c.books {
		n += len(b.broken)
	}
	return n
}

// print prints the books and returns how many promises did not hold.
func (c *campaign) print(out io.Writer) int {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "fault\trounds\tfaults\trecorded\twritten\tcounted as dropped\tsafe and missing\tunreadable records\tbroken\t")
	for _, b := range c.books {
		if b.skipped != "" {
			fmt.Fprintf(w, "%s\t%s\t\n", b.name, b.skipped)
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n",
			b.name, b.rounds, b.faults, b.recorded, b.written, b.lost, b.missing, b.unread, len(b.broken))
	}
	_ = w.Flush()
	return c.broken()
}
