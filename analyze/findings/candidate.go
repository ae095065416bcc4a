package findings

import (
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/replay"
)

// candidate is a possible change.
type candidate struct {
	Finding
	// changes are replayed together, unless saving is known. Without any, saving is an estimate.
	changes []replay.Change
	saving  replay.Saving
	// beside is time that goes with the changes and that a replay keeps; below 0, time that another finding has.
	beside int64
	// before is the time that goes with the changes by the name of its span, of requests perhaps before their first operation.
	before map[string]int64
	// atMost is set for a change with an unknown smaller gain, such as moving code elsewhere.
	atMost bool
	// most bounds the gain, 0 if unknown. So does limit, of a replay with all other changes.
	most, limit int64
	// isEffect is set for a time with other possible causes. They come first. A quarter of its gain displaces it.
	isEffect bool
	// stands is set for an effect that others explain only if they take most of its gain: the queue of devices with work all
	// the time, and a slow request.
	stands bool
	// isGeneral is set for a change beyond more specific ones. It saves the rest.
	isGeneral bool
	// behind is replayed after all others if the changes alone save little: then exposed, a time, may be behind theirs.
	behind  []replay.Change
	exposed int64
}

// replay sets s to the gain of changes. It reports false for an empty selection.
func (l *list) replay(s *replay.Saving, changes []replay.Change) bool {
	if len(changes) == 0 {
		return true
	}
	if l.Replay == nil {
		return false
	}
	l.replays <- struct{}{}
	defer func() { <-l.replays }()
	var err error
	*s, err = l.Replay().Saved(l.byRequest, changes...)
	return err == nil
}

// most returns an upper bound of the gain, if one is known without a replay. A change of one request's work saves time
// of the requests queued behind it, too.
func (l *list) most(changes []replay.Change) (ns int64, known bool) {
	const queued = 30 // an assumption, above the queues of real servers
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

// selectsOn returns the selection of a device for a replay.
func selectsOn(k device.Key) string {
	text := "device=" + k.DeviceID
	if k.Rank.Known {
		text += ",rank=" + k.Rank.String()
	}
	if k.Service != "" {
		text += ",service=" + k.Service
	}
	if k.Host != "" {
		text += ",host=" + k.Host
	}
	return text
}

// about returns a name as evidence, times a count, lasts a time, and figure another figure.
func about(name, value string) Evidence { return Evidence{Name: name, Value: value} }

func times(name string, n int64) Evidence { return Evidence{name, n, "count"} }

func lasts(name string, ns int64) Evidence { return Evidence{name, ns, "ns"} }

func figure(name string, x float64, unit string) Evidence { return Evidence{name, x, unit} }
