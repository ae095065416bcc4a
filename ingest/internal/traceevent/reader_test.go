package traceevent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/internal/testing/golden"
)

func TestReader(t *testing.T) {
	golden.Cases(t, "testdata/cases.txt", func(text string) string {
		r := traceevent.NewReader(strings.NewReader(text), "input", "rank", "base")
		var got strings.Builder
		for first := true; r.Next(); first = false {
			if !first {
				fmt.Fprintln(&got, "next")
			}
			for e, err := range r.Events() {
				if err != nil {
					fmt.Fprintln(&got, "error:", err)
					continue
				}
				fmt.Fprintf(&got, "%q %s %q %s %s %v %v %s\n", e.Phase, e.Category, e.Name, e.PID, e.TID,
					e.Start, e.Duration,
					e.Args)
			}
		}
		fmt.Fprintf(&got, "rank=%s base=%s, ended by %v", r.Member("rank"), r.Member("base"), r.Err())
		return got.String()
	})
}

func TestReaderStopsWhenTold(t *testing.T) {
	for _, text := range []string{`[{},{}]`, `{"traceEvents":[{},{}]}`, `[1,2]`} {
		r := traceevent.NewReader(strings.NewReader(text), "test")
		n := 0
		for range r.Events() {
			n++
			break
		}
		if n != 1 || r.Err() != nil {
			t.Errorf("%s: %d events, err = %v", text, n, r.Err())
		}
	}
}
