package headline_test

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/analyze/headline"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/op"
)

func ExampleOf() {
	h := headline.Of(&headline.Facts{
		Models: []string{"NVIDIA L4"}, Total: profile.Total{Count: 9}, ExtentNS: op.Known(2e6),
		Devices: []profile.Device{{DeviceID: "cuda:0", SpanNS: op.Known(2e6), BusyNS: op.Known(1e6)}},
	})
	fmt.Println(strings.Join(h.Text, "\n"))
	// Output:
	// NVIDIA L4: busy 50.0 % of 2.00 ms.
}
