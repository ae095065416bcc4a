package chrome_test

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/chrome"
)

func ExampleTimeline() {
	var t chrome.Timeline
	t.Add(&op.Entry{Operation: "matmul", DeviceID: "cuda:0", Start: op.Known(1000), Duration: 120_500})

	var file bytes.Buffer
	if err := t.Write(&file); err != nil {
		panic(err)
	}
	var trace struct {
		TraceEvents []struct {
			Name, Ph string
			Dur      float64
		}
	}
	if err := json.Unmarshal(file.Bytes(), &trace); err != nil {
		panic(err)
	}
	for _, e := range trace.TraceEvents {
		if e.Ph == "X" {
			fmt.Println(e.Name, e.Dur, "µs")
		}
	}
	// Output: matmul 120.5 µs
}
