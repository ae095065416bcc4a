package jsonstream_test

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
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
	walked := func(text string) string {
		whole := walk(strings.NewReader(text))
		check.Equal(t, text[:9]+", bytewise", whole, walk(iotest.OneByteReader(strings.NewReader(text))))
		return strings.Join(whole, "\n")
	}
	golden.Cases(t, "testdata/resume.txt", walked)
	long := strings.Repeat("x", 10_000)
	for text, want := range map[string]string{
		`{"list":[{"a":1},` + "\n" + `{"v":"` + long + `","list":[{"a":2}]}`: "document\n{\"a\":1}\n" +
			"document in place of an element, bytes passed over: 0 (at byte 18)\ndocument\n{\"a\":2}",
		`{"list":[{"a":` + "\n" + `{"w":"` + long + `","list":[{"a":2}]}`: "document\n" +
			"value without an end, bytes passed over: 10022 (at byte 9)\n{\"a\":2}",
		"\x00\x00{\"list\":[{\"a\":1}]}\n\x00": "document\nzero bytes passed over: 2 (at byte 0)\n{\"a\":1}\n" +
			"zero bytes passed over: 1 (at byte 21)",
	} {
		check.Equal(t, text[:9], want, walked(text))
	}
}

// FuzzResume checks that the walk behind damage ends, and does not depend on the division of the input.
func FuzzResume(f *testing.F) {
	f.Add([]byte(`{"list":[{"a":1}},{"a":[2}]],{"a":3}],"end":4}{"v":1,"list":[{"a":"x` + "\n" + `"},{"a":NaN,}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		check.Equal(t, "bytewise", walk(bytes.NewReader(text)), walk(iotest.OneByteReader(bytes.NewReader(text))))
	})
}
