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
	// Open prepares the sides.
	Open func(ctx context.Context, env *Env) (*Opened, error)
}

// Opened is a suite that is ready to run.
type Opened struct {
	// Sides are the sides by name.
	Sides map[string]Side
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
	// Quick asks for less work, and Trial for as little as shows that the sides
	// come to the same: one round over few operations.
	Quick, Trial bool
	// Cache is the directory of files and programs that are prepared once.
	Cache string
	// Optrace is the path of the command optrace, "" to have it built.
	Optrace string
	// Progress receives lines of progress.
	Progress io.Writer
}

// Log writes a line of progress.
func (e *Env) Log(format string, args ...any) {
	fmt.Fprintf(e.Progress, "bench: "+format+"\n", args...)
}

// Size returns full, or quick where the run is to be quick.
func (e *Env) Size(full, quick int) int {
	const trial = 2000
	switch {
	case e.Trial:
		return min(quick, trial)
	case e.Quick:
		return quick
	}
	return full
}

func (e *Env) rounds(s *Suite) int {
	if e.Trial {
		return 1
	}
	return e.Size(s.Rounds, s.QuickRounds)
}

// UnavailableError reports that something cannot be measured here.
type UnavailableError struct{ Need string }

// Error returns the need.
func (e *UnavailableError) Error() string { return "not run: needs " + e.Need }
