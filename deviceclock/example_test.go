package deviceclock_test

import (
	"fmt"

	"github.com/optrace/optrace/deviceclock"
)

// A device counts nanoseconds from its own start. Each pair holds its reading between two readings of the system's
// clock.
func ExampleClock_Unix() {
	c := deviceclock.New(deviceclock.Config{TickNanos: 1})
	const second = 1_000_000_000
	for i := range int64(20) {
		unix := 1_700_000_000*second + i*second
		c.Add(deviceclock.Pair{Before: unix - 500, Device: i * second, After: unix + 500})
	}
	launch := int64(1_700_000_010 * second)
	now := int64(1_700_000_011 * second)
	t, ok := c.Unix(10*second+250_000_000, launch, now)
	fmt.Println(t.Unix-launch, "ns behind the launch, at most", t.Error, "ns off,", ok)
	// Output:
	// 250000000 ns behind the launch, at most 5752 ns off, true
}
