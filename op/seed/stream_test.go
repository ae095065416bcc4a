package seed_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/seed"
)

// outcome describes what a reader yields, sorted where the metadata stand aside.
func outcome(records func(func(op.Record, error) bool)) (list []string) {
	for rec, err := range records {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax):
			list = append(list, fmt.Sprintf("%+v", *syntax))
		case err != nil:
			list = append(list, err.Error())
		case rec.Entry != nil:
			list = append(list, fmt.Sprintf("%+v", *rec.Entry))
		case rec.Total != nil:
			list = append(list, fmt.Sprintf("%+v", *rec.Total))
		case rec.Resource != nil:
			list = append(list, fmt.Sprintf("%+v", *rec.Resource))
		}
	}
	return list
}

// R2: a trace that is streamed gives what one in memory does, whatever the reads, where
// the metadata stand in front and each member is there once.
func TestR2TraceStreamAgainstTraceRecords(t *testing.T) {
	entry := []string{
		`{"operation":"matmul","duration_us":1.5,"inputs":[[2,3],[3,4]]}`, ` {"step":1,
		"operation":"a\"]}b","duration_us":2,"device":"cuda:0"}`, `{"operation":1}`, `7`, `[1,{"a":[]}]`, `{"operation":"x",}`,
		`{"operation":"relu","duration_us":"no"}`, `{}`, "null",
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var list []string
		for range rng.IntN(6) {
			list = append(list, entry[rng.IntN(len(entry))])
		}
		text := ` {"metadata":{"b":"2","a":"1"}, "other":[1],` + "\n" + `"total_duration_us":12.5,"entries":[` + strings.Join(list, ",\n") + `]} `
		want := outcome(seed.Records([]byte(text), "trace"))
		got := outcome(seed.Stream(iotest.OneByteReader(strings.NewReader(text)), "trace"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n%s", text, diff)
		}
	}
}

// R2: what ends a trace early ends it as one in memory, with a position.
func TestR2TraceStreamDamage(t *testing.T) {
	for text, want := range map[string]string{
		`{"entries":[{"operation":"a","duration_us":1},{"opera`: "unexpected end of JSON text",
		`{"entries":[{"operation":"a","duration_us":1} {}]}`:    "expected ',' or ']', found '{' (at byte 46)",
		`{"entries":[{"operation":"a","duration_us":1}]} x`:     "expected the end",
		`{"entries":7}`: "expected an array",
		`{"entries":["` + strings.Repeat("x", 40<<20) + `"]}`: "value longer than 16 MiB",
		`[]`: "expected an object",
		`{"entries":[{"operation":"a","duration_us":1}],"total_duration_us":"none"}`: "is not a duration",
	} {
		list := outcome(seed.Stream(strings.NewReader(text), "trace"))
		if len(list) == 0 || !strings.Contains(list[len(list)-1], want[:min(len(want), 30)]) {
			t.Errorf("%.60s: %q, want %q", text, list, want)
		}
	}
	broken := io.MultiReader(strings.NewReader(`{"entries":[{"operation":"a"`), iotest.ErrReader(errors.New("no disk")))
	if list := outcome(seed.Stream(broken, "trace")); len(list) != 1 || list[0] != "reading trace: no disk" {
		t.Errorf("%q", list)
	}
}
