package html_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/render/html"
)

// The page is one file and loads no other resource.
func ExampleWrite() {
	const batch = `{"operation":"matmul","device_id":"cuda:0","start_unix_ns":1000,"duration_us":0.3}
{"operation":"relu","device_id":"cuda:0","start_unix_ns":1300,"duration_us":0.1}
`
	records := entries.NewReader(strings.NewReader(batch), "ops.jsonl").Records()
	report, err := analyze.Run(context.Background(), analyze.Records(records), analyze.Options{KeepForest: true})
	if err != nil {
		panic(err)
	}
	var page bytes.Buffer
	if err := html.Write(&page, report, html.Options{Title: "training"}); err != nil {
		panic(err)
	}
	fmt.Println(bytes.Contains(page.Bytes(), []byte("<title>training")))
	// Output: true
}
