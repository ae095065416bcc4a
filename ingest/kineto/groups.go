package kineto

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/read/profiler"
	"github.com/optrace/optrace/op"
)

// groups tells the traces of a merged file apart: SGLang writes "[TP01] 83" for process 83 of the second rank and
// "[TP01] 0" for its device 0. It has the group of each process with a prefix, by symbol; nil if there is no prefix.
type groups map[uint32]group

// rankPrefix is the prefix of a process, one bracket or several.
var rankPrefix = regexp.MustCompile(`^(\[[A-Za-z]+-?[0-9]+\] ?)+`)

type group struct {
	number int // in the order of the prefixes
	rank   op.Int
}

func (g groups) of(process uint32) int { return g[process].number }

// ofPrefix returns the group of the processes with the prefix of a process that may have no symbol.
func (g groups) ofPrefix(symbols *profiler.Symbols, process string) int {
	for other, group := range g {
		if prefixOf(symbols.Text(other)) == prefixOf(process) {
			return group.number
		}
	}
	return 0
}

func prefixOf(process string) string { return rankPrefix.FindString(strings.Trim(process, `"`)) }

// findGroups finds the groups of the processes of all events.
func (t *tables) findGroups() groups {
	prefixes := make(map[uint32]string)
	add := func(process uint32) {
		if _, ok := prefixes[process]; !ok {
			prefixes[process] = prefixOf(t.symbols.Text(process))
		}
	}
	for _, thread := range t.threads.Values {
		add(thread.process)
	}
	for i := range int32(t.deviceOps.n) {
		add(t.deviceOps.at(i).process)
	}
	var list []string
	for _, prefix := range prefixes {
		if prefix != "" && !slices.Contains(list, prefix) {
			list = append(list, prefix)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	g := make(groups)
	for process, prefix := range prefixes {
		if prefix == "" {
			continue
		}
		number := slices.Index(list, prefix)
		g[process] = group{number: number + 1, rank: op.Known(rankIn(prefix, number))}
	}
	return g
}

// rankIn returns the number in a prefix such as [TP01], and the other one if the prefix has several.
func rankIn(prefix string, other int) int64 {
	digits := strings.TrimLeftFunc(strings.Trim(prefix, "[] "), func(r rune) bool { return r < '0' || r > '9' })
	if rank, err := strconv.ParseUint(digits, 10, 31); err == nil {
		return int64(rank)
	}
	return int64(other)
}
