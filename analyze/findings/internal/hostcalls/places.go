package hostcalls

import (
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/timeline"
)

// HostBetween returns where the host is for half of a time in the idle time between two operations, "" if unknown, and
// whether most of the idle time is within requests.
func HostBetween(places []timeline.Place, after, until string, most int64) (host string, isWithin bool) {
	for i := range places {
		p := &places[i]
		if p.After != after || p.Until != until {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(p.HostNS)) {
			if ns := p.HostNS[name]; 2*ns >= most && ns > p.HostNS[host] && !requests.IsWait(name) {
				host = name
			}
		}
		isWithin = 2*p.WithinNS >= most
	}
	return host, isWithin
}

// CodeBehind returns the idle time of devices behind an operator of the host, without calls that are others' and beyond the
// usual time.
func CodeBehind(places []timeline.Place, operator string, isOther func(call string) bool) int64 {
	var behind, n, usual, most int64 // usual is of the most frequent place
	for i := range places {
		p := &places[i]
		ns := p.SumNS
		for name, in := range p.HostNS {
			if isOther(name) {
				ns -= in
			}
		}
		if p.After == operator {
			behind += ns
			n += p.Count
		} else if p.Count > most {
			most = p.Count
			usual = ns / most
		}
	}
	return max(0, behind-n*usual)
}
