package text_test

import (
	"context"
	"os"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/render/text"
)

func ExampleWrite() {
	const batch = `{"operation":"matmul","device_id":"cuda:0","start_unix_ns":1000,"duration_us":0.3}
{"operation":"relu","device_id":"cuda:0","start_unix_ns":1300,"duration_us":0.1}
`
	records := entries.NewReader(strings.NewReader(batch), "ops.jsonl").Records()
	report, err := analyze.Run(context.Background(), analyze.Records(records), analyze.Options{})
	if err != nil {
		panic(err)
	}
	only := func(section string) bool { return section == "operations" }
	if err := text.Write(os.Stdout, report, text.Options{Width: 80, Show: only}); err != nil {
		panic(err)
	}
	// Output:
	// cuda:0: busy 100.0 % of 400 ns.
	//
	// input      0 files, no format, 0 B
	// spans      2: 2 entries, 0 skipped
	// sampling   no sampling recorded
	// total      2 operations, 400 ns within 400 ns
	//
	// OPERATIONS
	//   operation  count     sum   share              self    mean     p99     max
	//   matmul         1  300 ns  75.0 %  ███████▌  300 ns  300 ns  300 ns  300 ns
	//   relu           1  100 ns  25.0 %  ██▌       100 ns  100 ns  100 ns  100 ns
	//   without kind, p50, p95: -width 101
	//   percentiles are exact for up to 32 entries a row, else within 1.0 %
}
