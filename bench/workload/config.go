package workload

import "fmt"

// Version changes whenever the same Config gives other spans or files than
// before, so that files kept from earlier versions are not mistaken for these.
const Version = 1

// Mix says how the operations of the devices follow one another, and how often
// they repeat.
type Mix string

// The mixes.
const (
	// G512 is the graph with a process per device, as the ranks of a job write
	// it: 512 spans of one, then 512 of the next.
	G512 Mix = "g512"
	// G1 is the same graph in one process that drives all devices: from span to
	// span the device changes at random.
	G1 Mix = "g1"
	// Random has as many operations, in one process and on a random device each,
	// but every one of them has shapes of its own: attributes hardly ever repeat.
	Random Mix = "random"
)

// Config says what spans to make.
type Config struct {
	// Ops is the number of operations. The spans of layers and steps, one for
	// every twenty operations or so, come on top.
	Ops int
	// Mix is how they follow one another.
	Mix Mix
	// TextShapes writes shapes as text such as "64x784" in place of integers.
	TextShapes bool
	// Seed makes other spans of the same kind.
	Seed uint64
}

// String names the configuration: equal names mean equal spans.
func (c Config) String() string {
	shapes := "int"
	if c.TextShapes {
		shapes = "text"
	}
	return fmt.Sprintf("v%d-%s-%d-%s-%d", Version, c.Mix, c.Ops, shapes, c.Seed)
}

func (c Config) validate() error {
	switch c.Mix {
	case G512, G1, Random:
	default:
		return fmt.Errorf("unknown mix %q: there are %s, %s and %s", c.Mix, G512, G1, Random)
	}
	if c.Ops < 1 {
		return fmt.Errorf("%d operations are less than one", c.Ops)
	}
	return nil
}
