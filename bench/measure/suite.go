package measure

import (
	"context"
	"fmt"
	"io"
)

// Suite is a set of sides whose runs take turns.
type Suite struct {
	// Name stands for the suite in progress lines and errors.
	Name string
	// Unit is the unit of work, such as "op".
	Unit string
	// Rounds and QuickRounds are how often each side runs, after one round that
	// does not count unless Cold is set.
	Rounds, QuickRounds int
	// Cold makes the first round count like the others: processes start afresh.
	Cold bool
	// Open prepares the sides that are wanted.
	Open func(ctx context.Context, env *Env, want Want) (*Opened, error)
}

// Want holds the sides of a suite that are asked for.
type Want map[string]bool

// Opened is a suite that is ready to run.
type Opened struct {
	// Sides are the sides by name.
	Sides map[string]Side
	// Missing maps sides that cannot run here to their needs.
	Missing map[string]string
	// Check, where there is one, is called after the first round.
	Check func() error
	// After, where there is one, is called after the last round and returns
	// further figures by name.
	After func(ctx context.Context) (map[string]float64, error)
	// Close, where there is one, releases the suite's resources.
	Close func() error
}

// Side does a piece of work and returns its cost.
type Side func(ctx context.Context) (Sample, error)

// Env is common to all suites.
type Env struct {
	// Quick asks for less work.
	Quick bool
	// Cache is the directory of files and programs that are prepared once.
	Cache string
	// Progress receives lines of progress.
	Progress io.Writer
}

// Log writes a line of progress.
func (e *Env) Log(format string, args ...any) {
	fmt.Fprintf(e.Progress, "bench: "+format+"\n", args...)
}

// Size returns full, or quick where the run is to be quick.
func (e *Env) Size(full, quick int) int {
	if e.Quick {
		return quick
	}
	return full
}

// UnavailableError reports that something cannot be measured here.
type UnavailableError struct{ Need string }

// Error returns the need.
func (e *UnavailableError) Error() string { return "not run: needs " + e.Need }
