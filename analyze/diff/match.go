package diff

import (
	"fmt"
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

// listed returns the first few names, and the number of the others.
func listed(names []string) string {
	text := strings.Join(names[:min(len(names), maxFindings)], ", ")
	if more := len(names) - maxFindings; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
