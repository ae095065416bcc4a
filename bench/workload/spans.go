package workload

import (
	"iter"
	"math/rand/v2"
)

// runLength is how many spans of one process follow one another under G512.
const runLength = 512

// Spans returns the spans, those of a device in the order in which they end.
// Specs are shared between the spans of operations that repeat. The error is
// that of a configuration that makes no sense.
func (c Config) Spans() (iter.Seq[Span], error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return func(yield func(Span) bool) {
		streams, pick := c.streams(), rand.New(rand.NewPCG(c.Seed, 1))
		run := 1
		if c.Mix == G512 {
			run = runLength
		}
		for ops, turn := 0, 0; ops < c.Ops; turn++ {
			s := streams[turn%len(streams)]
			if c.Mix != G512 {
				s = streams[pick.IntN(len(streams))]
			}
			for n := 0; n < run && ops < c.Ops; n++ {
				span := s.next()
				if span.Op != nil {
					ops++
				}
				if !yield(span) {
					return
				}
			}
		}
		for _, s := range streams {
			for _, span := range s.rest() {
				if !yield(span) {
					return
				}
			}
		}
	}, nil
}

// streams returns a stream per device.
func (c Config) streams() []*stream {
	graph := newGraph(rand.New(rand.NewPCG(c.Seed, 2)))
	streams := make([]*stream, numDevices)
	for i := range streams {
		process := 0
		if c.Mix == G512 {
			process = i
		}
		s := newStream(rand.New(rand.NewPCG(c.Seed, uint64(3+i))), process)
		if c.Mix == Random {
			s.make = func(rng *rand.Rand) *Spec {
				return newSpec(rng, deviceName(rng.IntN(numDevices)), randomStep, c.TextShapes)
			}
		} else {
			s.graph = make([]*Spec, len(graph))
			for j, spec := range graph {
				s.graph[j] = spec.on(deviceName(i), c.TextShapes)
			}
		}
		streams[i] = s
	}
	return streams
}

// processes is how many there are.
func (c Config) processes() int {
	if c.Mix == G512 {
		return numDevices
	}
	return 1
}
