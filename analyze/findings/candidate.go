package findings

import (
	"github.com/optrace/optrace/analyze/replay"
)

// candidate is a change that may be worth making.
type candidate struct {
	Finding
	// changes are replayed together, unless saving is known. Without any, saving is an estimate.
	changes []replay.Change
	saving  replay.Saving
	// atMost is set for a change that cannot save all of it, such as code that has to run somewhere.
	atMost bool
	// most bounds what the changes save, 0 if unknown.
	most int64
	// isEffect is set for a time that other causes can explain. They come first, and it is left out beside them.
	isEffect bool
	// isGeneral is set for a change that includes more specific ones. It saves what these leave.
	isGeneral bool
}

// replay sets s to what changes save. It reports false for changes that select nothing.
func (l *list) replay(s *replay.Saving, changes []replay.Change) bool {
	if len(changes) == 0 {
		return true
	}
	if l.Replay == nil {
		return false
	}
	var err error
	*s, err = l.Replay().Saved(l.byRequest, changes...)
	return err == nil
}

// most returns about the most that changes save, if that is known without a replay. A change of the work of one request
// saves time of the requests that queue behind it, too: of queued requests.
func (l *list) most(changes []replay.Change) (ns int64, known bool) {
	const queued = 30 // an assumption, above queues that servers keep
	if len(changes) != 1 || l.Replay == nil {
		return 0, false
	}
	ns, known = l.Replay().Most(changes[0])
	if l.byRequest {
		ns *= queued
	}
	return ns, known
}

func (l *list) enough(ns int64) bool { return l.whole > 0 && float64(ns) >= minShare*float64(l.whole) }

// change returns a change of a kind and a selection.
func change(kind replay.Kind, selection string) []replay.Change {
	return []replay.Change{{Kind: kind, Select: selection}}
}

// about returns a name as evidence, times a count, lasts a time, and figure another figure.
func about(name, value string) Evidence { return Evidence{Name: name, Value: value} }

func times(name string, n int64) Evidence { return Evidence{name, n, "count"} }

func lasts(name string, ns int64) Evidence { return Evidence{name, ns, "ns"} }

func figure(name string, x float64, unit string) Evidence { return Evidence{name, x, unit} }
