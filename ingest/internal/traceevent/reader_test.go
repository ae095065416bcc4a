package traceevent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/internal/testing/check"
)

func TestReader(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
		err        string
	}{
		{
			"object", `{"rank":{"x":1},"traceEvents":[{"ph":"X","cat":"c","name":"n","pid":1,"tid":"t","ts":1.5,` +
				`"dur":2,"args":{"a":[1]}}],"base":7}`,
			[]string{`X c n 1 "t" 1500 2000 {"a":[1]}`, `rank={"x":1} base=7`}, "",
		},
		{
			"array", `[{"ph":"M","name":"process_name","args":null},{"name":"\u0041\n","ts":1682725898236567.123,` +
				`"other":{}}]`,
			[]string{`M  process_name   unknown unknown `, "\x00  A\n   1682725898236567123 unknown ", `rank= base=`},
			"",
		},
		{
			"values of other types", `[{"ph":1,"cat":null,"name":{},"pid":null,"ts":null,"args":[1]}]`,
			[]string{"\x00   null  unknown unknown ", `rank= base=`}, "",
		},
		{
			"bad events", `[1,{"ph":"X"},{"ts":"now"},{"ts":1e300},{"ph":X},{}]`,
			[]string{
				"test: expected an object, found '1' (at byte 1)", "X     unknown unknown ",
				"test: ts is no number (at byte 14)",
				"test: ts does not fit 64 bits of nanoseconds (at byte 27)",
				"test: expected a value, found 'X' (at byte 46)", "\x00     unknown unknown ", `rank= base=`,
			}, "",
		},
		{"times in quotes", `[{"ph":"X","ts":"213757592700","dur":"41.5"},{"ts" : "\u0031.5"}]`,
			[]string{"X     213757592700000 41500 ", "\x00     1500 unknown ", "rank= base="}, ""},
		{"cut off", `{"base":1,"traceEvents":[{"ph":"X"},{"ph`, []string{"X     unknown unknown ", "rank= base=1"},
			"test: unexpected end of JSON text (at byte 40)"},
		{"something behind", `[{"ph":"X"}] nope`, []string{"X     unknown unknown ", "rank= base="},
			"test: expected the end of the document, found 'n' (at byte 13)"},
		{"no document", `1`, []string{"rank= base="}, "test: expected an object, found '1' (at byte 0)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := traceevent.NewReader(strings.NewReader(test.text), "test", "rank", "base")
			var got []string
			for e, err := range r.Events() {
				if err != nil {
					got = append(got, err.Error())
					continue
				}
				got = append(got, fmt.Sprintf("%c %s %s %s %s %v %v %s", e.Phase, e.Category, e.Name, e.PID, e.TID,
					e.Start, e.Duration, e.Args))
			}
			got = append(got, fmt.Sprintf("rank=%s base=%s", r.Member("rank"), r.Member("base")))
			check.Equal(t, "events", test.want, got)
			if err := r.Err(); err == nil && test.err != "" || err != nil && err.Error() != test.err {
				t.Errorf("err = %v, want %q", err, test.err)
			}
		})
	}
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
