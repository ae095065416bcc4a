package jsonstream_test

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/text/jsonstream"
)

var starts = regexp.MustCompile(`(\{"v"\s*:)|(\{\s*"a"\s*:|\]\s*,\s*"end"\s*:)`)

// walk returns the elements of the member "list" of each document, its member "end", and the errors in their places.
func walk(src io.Reader) (got []string) {
	r := jsonstream.NewReader(src, "test")
	r.Resume(starts, 2)
	fault := func(err error) { got = append(got, strings.TrimPrefix(err.Error(), "test: ")) }
	for r.Next() {
		got = append(got, "document")
		for r.Object(); r.More(); {
			switch string(r.Key()) {
			case "list":
				for text, err := range r.Elements() {
					if err != nil {
						fault(err)
					} else {
						got = append(got, string(text))
					}
				}
			case "end":
				if text, err := r.Value(); err == nil {
					got = append(got, "end "+string(text))
				}
			default:
				r.Skip()
			}
		}
		if err := r.Damage(); err != nil {
			fault(err)
		}
	}
	if err := r.Damage(); err != nil {
		fault(err)
	}
	if err := r.Err(); err != nil {
		fault(err)
	}
	return got
}

func TestResume(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"a quote too many", `{"list":[{"a":1},{"a":"x"y"},{"a":2},{"a":3}],"end":4}`, []string{
			"document", `{"a":1}`, "expected ',' or '}', found 'y', bytes passed over: 12 (at byte 25)", `{"a":2}`, `{"a":3}`,
			"end 4"}},
		{"in the last element", `{"list":[{"a":"x"y"}],"end":4}`, []string{
			"document", "expected ',' or '}', found 'y', bytes passed over: 11 (at byte 17)", "end 4"}},
		{"a bracket too many", `{"list":[{"a":1}},{"a":2}]],{"a":3}],"end":4}`, []string{
			"document", `{"a":1}`, "expected ',' or ']', found '}', bytes passed over: 2 (at byte 16)", `{"a":2}`,
			"expected ',' or '}', found ']', bytes passed over: 2 (at byte 26)", `{"a":3}`, "end 4"}},
		{"a bracket too few", `{"list":[{"a":[1},{"a":2}],"end":4}`, []string{
			"document", "expected ',' or ']', found '}', bytes passed over: 9 (at byte 16)", `{"a":2}`, "end 4"}},
		{"a bad key", `{"list":[{"a":1}],v":0,"list":[{"a":2}],"end":4}`, []string{"document", `{"a":1}`,
			"expected a string, found 'v', bytes passed over: 13 (at byte 18)", `{"a":2}`, "end 4"}},
		{"cut off, and begun again", `{"list":[{"a":1},{"a` + "\n" + `{"v":0,"list":[{"a":2}]}`, []string{"document",
			`{"a":1}`, "control character in a string, bytes passed over: 4 (at byte 20)", "document", `{"a":2}`}},
		{"cut off in front of an element", `{"list":[{"a":1},` + "\n" + `{"v":"` + long + `","list":[{"a":2}]}`, []string{
			"document", `{"a":1}`, "document in place of an element, bytes passed over: 0 (at byte 18)", "document", `{"a":2}`}},
		{"cut off behind a colon", `{"list":[{"a":` + "\n" + `{"w":"` + long + `","list":[{"a":2}]}`, []string{
			"document", "value without an end, bytes passed over: 10022 (at byte 9)", `{"a":2}`}},
		{"not for an element's member", `{"list":[{"a":x,"b":{"a":7}},{"a":2}]}`, []string{"document",
			"expected a value, found 'x' (at byte 14)", `{"a":2}`}},
		{"mended", `{"list":[{"a":{"b":NaN,"c":"C:\x",},},{"a":2},],"end":4,}`, []string{"document",
			`{"a":{"b":"NaN","c":"C:\u005cx"}}`, `{"a":2}`, "end 4"}},
		{"documents", `{"list":[{"a":1}]}{"list":[{"a":2}]}` + "\n" + `{"end":4}`, []string{"document", `{"a":1}`,
			"document", `{"a":2}`, "document", "end 4"}},
		{"zeros", "\x00\x00{\"list\":[{\"a\":1}]}\n\x00", []string{"document",
			"zero bytes passed over: 2 (at byte 0)", `{"a":1}`, "zero bytes passed over: 1 (at byte 21)"}},
		{"nothing behind it", `{"list":[{"a":1}}`, []string{"document", `{"a":1}`,
			"expected ',' or ']', found '}' (at byte 16)"}},
		{"cut off", `{"list":[{"a":1},{"a":"x`, []string{"document", `{"a":1}`, "unexpected end of JSON text (at byte 24)"}},
	} {
		check.Equal(t, test.name, test.want, walk(strings.NewReader(test.text)))
		check.Equal(t, test.name+", bytewise", test.want, walk(iotest.OneByteReader(strings.NewReader(test.text))))
	}
}

// FuzzResume checks that the walk behind damage ends, and does not depend on the division of the input.
func FuzzResume(f *testing.F) {
	f.Add([]byte(`{"list":[{"a":1}},{"a":[2}]],{"a":3}],"end":4}{"v":1,"list":[{"a":"x` + "\n" + `"},{"a":NaN,}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		check.Equal(t, "bytewise", walk(bytes.NewReader(text)), walk(iotest.OneByteReader(bytes.NewReader(text))))
	})
}
