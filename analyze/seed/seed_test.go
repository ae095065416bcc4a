package seed

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/fulldisk"
	"github.com/optrace/optrace/op"
)

func TestFiguresHaveTheReferenceJSON(t *testing.T) {
	balance := NewBalance([]Sum{{"gpu:1", 1, 100_000}, {"gpu:0", 1, 300_000}})
	for _, tc := range []struct {
		got  any
		want string
	}{
		{
			Bottlenecks([]Sum{{"send", 1, 100_000}}, 400_000, 0),
			`[{"operation":"send","total_duration_us":100,"ratio_of_total":0.25,"call_count":1}]`,
		},
		{balance, `{"device_count":2,"total_duration_us":400,"ideal_duration_us":200,` +
			`"max_duration_us":300,"imbalance_ratio":0.5,"per_device_duration_us":[["gpu:0",300],["gpu:1",100]]}`},
	} {
		got := check.Must(json.Marshal(tc.got))(t)
		check.Equal(t, "", tc.want, string(got))
	}
	check.Equal(t, "one device", nil, NewBalance([]Sum{{"gpu:0", 1, 300_000}}))
	text := check.Must(json.Marshal(balance))(t)
	var got *Balance
	check.OK(t, json.Unmarshal(text, &got))
	check.Equal(t, "", balance, got)
	for _, bad := range []string{`"gpu:0"`, `[1,2]`, `["gpu:0"]`, `["a",1,2]`} {
		check.Says(t, fmt.Sprintf("%s reads without an error", bad), "",
			json.Unmarshal([]byte(bad), new(DeviceDuration)))
	}
}

func text(t *testing.T, s *Stacks) string {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, s.Write(&b))
	return b.String()
}

func TestStacksWriteError(t *testing.T) {
	var s Stacks
	s.Add(&op.Entry{Operation: "matmul", Duration: 1000})
	check.Is(t, "Write", fulldisk.Err, s.Write(&fulldisk.Writer{}))
}

// Whatever the names are, each line is three frames and a weight.
func FuzzStacksWrite(f *testing.F) {
	for _, name := range []string{"", "a", "a;b", "a b", "line\nbreak", "tab\t", "\x00\x1b[31m", "\xff\xfe", "\u2028",
		"x 5", "trace;5 5"} {
		f.Add(name, "cuda:0")
		f.Add("matmul", name)
	}
	f.Fuzz(func(t *testing.T, name, device string) {
		var s Stacks
		s.Add(&op.Entry{Operation: name, DeviceID: device, Duration: 7000})
		want := "trace;" + stacks.Collapse(cmp.Or(device, unknownDevice)) + ";" + stacks.Collapse(name) + " 7\n"
		got := text(t, &s)
		if got != want || strings.Count(got, ";") != 2 || strings.IndexFunc(got, unicode.IsControl) != len(got)-1 {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
