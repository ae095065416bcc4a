package device_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/op"
)

func ExampleKey_Label() {
	k := device.Of(&op.Entry{DeviceID: "cuda:0", Rank: op.Known(3)})
	fmt.Println(k.Label(true), k.Label(false))
	// Output:
	// 3/cuda:0 cuda:0
}
