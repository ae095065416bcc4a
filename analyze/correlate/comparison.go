package correlate

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/op"
)

const minCompared = 4 // the least number of requests of an endpoint for a comparison of slow and typical ones

// Comparison compares an endpoint's slowest tenth of requests with the half around the median.
type Comparison struct {
	Slow    Group `json:"slow"`
	Typical Group `json:"typical"`
	// DifferenceNS is the mean duration of the slow requests minus the mean of the typical ones. Parts divides it by
	// operation on the critical path, the largest first.
	DifferenceNS float64          `json:"difference_ns"`
	Parts        []PartDifference `json:"parts"`
	// Link leads to the comparison of the two groups' examples.
	Link Link `json:"link"`
}

// Group is some requests of an endpoint.
type Group struct {
	Requests int64   `json:"requests"`
	MeanNS   float64 `json:"mean_ns"`
	// TraceID is an example: the slowest of the slow requests, the median of the typical ones.
	TraceID op.TraceID `json:"trace_id"`
	Link    Link       `json:"link"`
}

// PartDifference is a part of the critical path in slow and in typical requests.
type PartDifference struct {
	Operation string `json:"operation"`
	Kind      string `json:"kind"`
	device.Key
	// SlowNS and TypicalNS are mean times per request, DifferenceNS is SlowNS minus TypicalNS.
	SlowNS       float64 `json:"slow_mean_ns"`
	TypicalNS    float64 `json:"typical_mean_ns"`
	DifferenceNS float64 `json:"difference_ns"`
	// Link leads to this part of the slowest request.
	Link Link `json:"link"`
}

// compare compares requests sorted by duration, and marks the slow ones. It returns nil for fewer than minCompared.
func compare(sorted []*Request, links Link) *Comparison {
	n := len(sorted)
	if n < minCompared {
		return nil
	}
	slow := sorted[n-(n+9)/10:]
	typical := sorted[n/4 : n-(n+3)/4]
	slowest := slow[len(slow)-1]
	median := typical[len(typical)/2]
	for _, r := range slow {
		r.Slow = true
		r.CompareLink = links.compare(r.TraceID, median.TraceID)
	}
	c := &Comparison{
		Slow:    group(slow, slowest),
		Typical: group(typical, median),
		Parts:   []PartDifference{},
		Link:    links.compare(slowest.TraceID, median.TraceID),
	}
	c.DifferenceNS = c.Slow.MeanNS - c.Typical.MeanNS
	inSlow := meanParts(slow)
	inTypical := meanParts(typical)
	exemplar := make(map[partKey]Link)
	for i := range slowest.CriticalPath {
		exemplar[slowest.CriticalPath[i].key()] = slowest.CriticalPath[i].Link
	}
	both := maps.Clone(inSlow)
	maps.Copy(both, inTypical)
	for k := range both {
		c.Parts = append(c.Parts, PartDifference{
			Operation: k.operation, Kind: k.kind, Key: k.device,
			SlowNS: inSlow[k], TypicalNS: inTypical[k], DifferenceNS: inSlow[k] - inTypical[k], Link: exemplar[k],
		})
	}
	slices.SortFunc(c.Parts, func(a, b PartDifference) int {
		ka, kb := partKey{a.Operation, a.Kind, a.Key}, partKey{b.Operation, b.Kind, b.Key}
		return cmp.Or(cmp.Compare(math.Abs(b.DifferenceNS), math.Abs(a.DifferenceNS)), ka.compare(kb))
	})
	return c
}

func group(requests []*Request, example *Request) Group {
	g := Group{Requests: int64(len(requests)), TraceID: example.TraceID, Link: example.Link}
	var sum float64
	for _, r := range requests {
		sum += float64(r.DurationNS.V)
	}
	g.MeanNS = sum / float64(len(requests))
	return g
}

func meanParts(requests []*Request) map[partKey]float64 {
	sums := make(map[partKey]float64)
	for _, r := range requests {
		for i := range r.CriticalPath {
			sums[r.CriticalPath[i].key()] += float64(r.CriticalPath[i].TimeNS)
		}
	}
	for k := range sums {
		sums[k] /= float64(len(requests))
	}
	return sums
}

type partKey struct {
	operation, kind string
	device          device.Key
}

func (k partKey) compare(other partKey) int {
	return cmp.Or(
		strings.Compare(k.operation, other.operation),
		k.device.Compare(other.device),
		strings.Compare(k.kind, other.kind),
	)
}

func (p *PathPart) key() partKey { return partKey{p.Operation, p.Kind, p.Key} }
