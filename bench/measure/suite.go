package measure

import (
	"context"
	"fmt"
	"io"
)

// Suite is a set of sides whose runs take turns.
type Suite struct {
	// Name says what is measured, for progress and errors.
	Name string
	// Unit is what the cost is counted per, such as "op".
	Unit string
	// Rounds and QuickRounds are how often each side runs, after one round that
	// does not count unless Cold is set.
	Rounds, QuickRounds int
	// Cold tells that the first round is like the others: processes start anew.
	Cold bool
	// Open prepares the sides that are wanted.
	Open func(ctx context.Context, env *Env, want Want) (*Opened, error)
}

// Want tells which sides of a suite are asked for.
type Want map[string]bool

// Opened is a suite that is ready to run.
type Opened struct {
	// Sides has what to run by the name of the side.
	Sides map[string]Side
	// Missing has the sides that cannot run here, and what they would need.
	Missing map[string]string
	// Check, where there is one, is called after the first round.
	Check func() error
	// After, where there is one, is called after the last round and returns
	// further figures by name.
	After func(ctx context.Context) (map[string]float64, error)
	// Close, where there is one, gives back what the suite holds.
	Close func() error
}

// Side does a piece of work and tells what it cost.
type Side func(ctx context.Context) (Sample, error)

// Env is what suites share.
type Env struct {
	// Quick asks for less work.
	Quick bool
	// Cache is the directory of what is prepared once.
	Cache string
	// Progress takes lines for whoever waits.
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

// UnavailableError tells that something cannot be measured here.
type UnavailableError struct{ Need string }

// Error says what is missing.
func (e *UnavailableError) Error() string { return "not run: needs " + e.Need }
