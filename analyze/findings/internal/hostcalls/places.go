package hostcalls

import (
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/timeline"
)

// LongestIdle returns the place with most of the idle time in which a request waits, that time, and where the host is in half
// of it, "" if unknown. It returns nil without any.
func LongestIdle(places []timeline.Place) (place *timeline.Place, most int64, host string) {
	for i := range places {
		p := &places[i]
		if here := p.SumNS - max(p.EarlyNS, p.NoRequestNS); p.After != key.Other && here > most {
			place, most = p, here
		}
	}
	if place == nil {
		return nil, 0, ""
	}
	for _, name := range slices.Sorted(maps.Keys(place.HostNS)) {
		if ns := place.HostNS[name]; 2*ns >= most && ns > place.HostNS[host] && !requests.IsWait(name) {
			host = name
		}
	}
	return place, most, host
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
