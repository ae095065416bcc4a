package diff_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/optrace/optrace/analyze/diff"
)

// One call compares six recordings of a program before a change with six after it.
func ExampleFiles() {
	dir, err := os.MkdirTemp("", "optrace")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var base, head []string
	for i := range 6 {
		base = append(base, recording(dir, fmt.Sprint("base", i), 20+i))
		head = append(head, recording(dir, fmt.Sprint("head", i), 30+i))
	}

	report, err := diff.Files(context.Background(), base, head, diff.Options{})
	if err != nil {
		panic(err)
	}
	for _, r := range report.Rows {
		fmt.Printf("%s: %.0f -> %.0f ns, %s\n", r.Key, r.BaseNS.V, r.HeadNS.V, r.Verdict)
	}
	// Output:
	// matmul: 22494 -> 32496 ns, slower
}

// recording writes a run of one operation and returns the path of its file.
func recording(dir, name string, micros int) string {
	path := filepath.Join(dir, name+".jsonl")
	line := fmt.Sprintf(`{"operation":"matmul","device_id":"cuda:0","duration_us":%d}`+"\n", micros)
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		panic(err)
	}
	return path
}
