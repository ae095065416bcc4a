package jsonstream_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/text/jsonstream"
	"github.com/optrace/optrace/op"
)

// events returns the elements of a document's member "events", or of the document itself, with the errors in their
// places.
func events(src io.Reader) (got []string, err error) {
	r := jsonstream.NewReader(src, "test")
	take := func() {
		for text, err := range r.Elements() {
			if err != nil {
				got = append(got, "error: "+err.Error())
			} else {
				got = append(got, string(text))
			}
		}
	}
	if r.Peek() == '[' {
		take()
		return got, r.Err()
	}
	for r.Object(); r.More(); {
		if string(r.Key()) == "events" {
			take()
		} else {
			r.Skip()
		}
	}
	return got, r.Err()
}

// shown returns the elements of a document and the error that ended them, which do not depend on the sizes of reads.
func shown(t *testing.T, text string) string {
	t.Helper()
	show := func(src io.Reader) string {
		var b strings.Builder
		got, err := events(src)
		for _, e := range got {
			fmt.Fprintf(&b, "%#q\n", e)
		}
		var syntax *op.SyntaxError
		if errors.As(err, &syntax) && syntax.Truncated {
			fmt.Fprint(&b, "truncated: ")
		}
		fmt.Fprintln(&b, err)
		return b.String()
	}
	whole := show(strings.NewReader(text))
	if len(text) < jsonstream.MaxElement { // or it takes long
		check.Equal(t, "data with EOF", whole, show(iotest.DataErrReader(strings.NewReader(text))))
		check.Equal(t, "in halves", whole, show(iotest.HalfReader(strings.NewReader(text))))
		check.Equal(t, "bytewise", whole, show(iotest.OneByteReader(strings.NewReader(text))))
	}
	return whole
}

func TestElements(t *testing.T) {
	golden.Cases(t, "testdata/elements.txt", func(text string) string { return shown(t, text) })
	long := strings.Repeat("x", jsonstream.MaxElement)
	brackets := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for text, want := range map[string]string{
		"\xef\xbb\xbf\r\n{ \"events\" :\t[ {\"a\" : 1} ,\n 2 ] }": "`{\"a\" : 1}`\n`2`\n<nil>\n",
		`[1,"` + long + `",{"a":"` + long + `"},2]`: "`1`\n`error: test: value longer than 16 MiB (at byte 3)`\n" +
			"`error: test: value longer than 16 MiB (at byte 16777222)`\n`2`\n<nil>\n",
		`{"v":"` + long + `","events":[1]}`: "`1`\n<nil>\n",
		`[` + brackets + `,1]`:              "`" + brackets + "`\n`1`\n<nil>\n",
	} {
		check.Equal(t, text[:20], want, shown(t, text))
	}
}

func TestNested(t *testing.T) {
	const text = `{"data":[{"id":7,"spans":[{"a":1},{"a":2}],"rest":0},{"spans":[]},{"spans":[{"a":3}]}],"errors":null}`
	r := jsonstream.NewReader(iotest.OneByteReader(strings.NewReader(text)), "test")
	var got []string
	for r.Object(); r.More(); {
		if string(r.Key()) != "data" {
			r.Skip()
			continue
		}
		for r.Array(); r.More(); {
			got = append(got, "trace")
			for r.Object(); r.More(); {
				switch string(r.Key()) {
				case "id":
					id, err := r.Value()
					got = append(got, fmt.Sprintf("id %s %v", id, err))
				case "spans":
					for span, err := range r.Elements() {
						got = append(got, fmt.Sprintf("%s %v at %d", span, err, r.Offset()))
					}
				default:
					r.Skip()
				}
			}
		}
	}
	want := []string{"trace", "id 7 <nil>", `{"a":1} <nil> at 26`, `{"a":2} <nil> at 34`, "trace", "trace",
		`{"a":3} <nil> at 76`}
	check.Equal(t, "walk", want, got)
	if r.Err() != nil || r.Next() {
		t.Errorf("err = %v, or more than one document", r.Err())
	}
}

func TestDocuments(t *testing.T) {
	golden.Cases(t, "testdata/documents.txt", func(text string) string {
		r := jsonstream.NewReader(iotest.OneByteReader(strings.NewReader(text)), "test")
		var b strings.Builder
		for text, err := range r.Documents() {
			check.OK(t, err)
			fmt.Fprintf(&b, "%q\n", text)
		}
		fmt.Fprintln(&b, r.Err())
		return b.String()
	})
}

func TestSourceFails(t *testing.T) {
	broken := errors.New("broken")
	src := io.MultiReader(strings.NewReader(`[{"a":1},{"b":`), iotest.ErrReader(broken))
	got, err := events(src)
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("%q, err = %v", got, err)
	}
	if _, err := events(iotest.ErrReader(nil)); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a source that gives nothing: err = %v", err)
	}
}

func TestStopsWhenTold(t *testing.T) {
	r := jsonstream.NewReader(strings.NewReader("[1,2,3]"), "test")
	for range r.Elements() {
		break
	}
	if !r.More() || r.Peek() != '2' {
		t.Error("the array is not where it was left")
	}
}

// FuzzElements checks that elements do not depend on the division of the input, and agree with encoding/json for a
// valid document.
func FuzzElements(f *testing.F) {
	for _, seed := range []string{
		`[{"a":1},{"b":[2,{}]}]`, `{"events":[1,"\"",true,null],"v":{}}`, `[{"a":"x`, "[{\"a\":\"x\n\"},1]",
		`{"events":[}]}`, "\xef\xbb\xbf[]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, err := events(bytes.NewReader(text))
		bytewise, err2 := events(iotest.OneByteReader(bytes.NewReader(text)))
		if diff := cmp.Diff(whole, bytewise); diff != "" {
			t.Fatalf("bytewise (-whole +bytewise):\n%s", diff)
		}
		if (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
			t.Fatalf("err = %v, bytewise %v", err, err2)
		}
		var want []json.RawMessage
		if json.Unmarshal(text, &want) != nil || !strings.HasPrefix(strings.TrimLeft(string(text), " \t\r\n"), "[") {
			return
		}
		if err != nil || len(whole) != len(want) {
			t.Fatalf("%d elements, err = %v; want %d", len(whole), err, len(want))
		}
		for i := range want {
			if string(want[i]) != whole[i] {
				t.Errorf("element %d is %q, want %q", i, whole[i], want[i])
			}
		}
	})
}

func TestOpensObjects(t *testing.T) {
	for text, want := range map[string]bool{"[\n {": true, "[{": true, "[1": false, "[": false, "{": false, "": false,
		"[" + strings.Repeat(" ", 2*jsonstream.Large) + "{": false} {
		r := jsonstream.NewReader(iotest.OneByteReader(strings.NewReader(text)), "list")
		check.Equal(t, text[:min(len(text), 9)], want, r.OpensObjects())
	}
}

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
