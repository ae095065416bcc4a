package diff

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/op"
)

// aliases maps devices of a run to the names for both sides.
type aliases map[device.Key]device.Key

func (a aliases) of(k device.Key) device.Key {
	if alias, ok := a[k]; ok {
		return alias
	}
	return k
}

// matchDevices matches the devices of all runs: by rank if a run has one device of it, or without ranks one device,
// else by name. Both sides call a matched device as the first run does.
func matchDevices(base, head []*Run) map[*Run]aliases {
	names := make(map[*Run]aliases)
	first := make(map[op.Int]device.Key)
	for _, r := range slices.Concat(base, head) {
		byRank := make(map[op.Int][]device.Key)
		for i := range r.devices {
			if k := r.devices[i].Key(); !k.IsNone() {
				byRank[k.Rank] = append(byRank[k.Rank], k)
			}
		}
		names[r] = make(aliases)
		for rank, keys := range byRank {
			if _, ok := first[rank]; !ok {
				first[rank] = keys[0]
			}
			if len(keys) == 1 {
				names[r][keys[0]] = first[rank]
			}
		}
	}
	return names
}

// unmatched names the devices of one side only.
func unmatched(base, head []*Run, names map[*Run]aliases) (says []string) {
	of := func(runs []*Run) map[device.Key]bool {
		keys := make(map[device.Key]bool)
		for _, r := range runs {
			for i := range r.devices {
				if k := r.devices[i].Key(); !k.IsNone() {
					keys[names[r].of(k)] = true
				}
			}
		}
		return keys
	}
	only := func(side string, mine, others map[device.Key]bool) {
		maps.DeleteFunc(mine, func(k device.Key, _ bool) bool { return others[k] })
		var labels []string
		for _, k := range slices.SortedFunc(maps.Keys(mine), device.Key.Compare) {
			labels = append(labels, k.Label(true))
		}
		if n := len(labels); n > 0 {
			says = append(says, fmt.Sprintf("devices of the %s only, without a match: %s", side, listed(labels)))
		}
	}
	b, h := of(base), of(head)
	only("base", maps.Clone(b), h)
	only("head", h, b)
	return says
}

// listed returns the first few names, and the number of the others.
func listed(names []string) string {
	text := strings.Join(names[:min(len(names), maxFindings)], ", ")
	if more := len(names) - maxFindings; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
