package jsonstream_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/testing/check"
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

func TestElements(t *testing.T) {
	long := strings.Repeat("x", jsonstream.MaxElement)
	for _, test := range []struct {
		name, text string
		want       []string
		err        string
	}{
		{"array", `[{"a":1},{"b":[2,{}]}]`, []string{`{"a":1}`, `{"b":[2,{}]}`}, ""},
		{"empty array", ` [ ] `, nil, ""},
		{"member of an object", `{"v":1,"events":[{"a":1}],"w":{"x":[]}}`, []string{`{"a":1}`}, ""},
		{"escaped key", `{"\u0065vents":[1]}`, []string{"1"}, ""},
		{"no such member", `{"v":1}`, nil, ""},
		{"the member twice", `{"events":[1],"events":[2]}`, []string{"1", "2"}, ""},
		{"scalars", `[1,-2.5e3,true,null,"s","]\"["]`, []string{"1", "-2.5e3", "true", "null", `"s"`, `"]\"["`}, ""},
		{"spaces", "\xef\xbb\xbf\r\n{ \"events\" :\t[ {\"a\" : 1} ,\n 2 ] }", []string{`{"a" : 1}`, "2"}, ""},
		{"brackets in strings", `[{"a":"}]"},{"b":"\\"}]`, []string{`{"a":"}]"}`, `{"b":"\\"}`}, ""},
		{"an element that breaks the grammar", `[{"a":nope:},{"b":2}]`, []string{`{"a":nope:}`, `{"b":2}`}, ""},
		{"a string without its end", "[{\"a\":\"x}\n},{\"b\":2}]", []string{"{\"a\":\"x}\n}", `{"b":2}`}, ""},
		{"an element too long", `[1,"` + long + `",{"a":"` + long + `"},2]`, []string{
			"1", "error: test: value longer than 16 MiB (at byte 3)",
			"error: test: value longer than 16 MiB (at byte 16777222)", "2",
		}, ""},
		{"a skipped value may be longer", `{"v":"` + long + `","events":[1]}`, []string{"1"}, ""},
		{"cut within an element", `{"events":[{"a":1},{"b":`, []string{`{"a":1}`},
			"test: unexpected end of JSON text (at byte 24)"},
		{"cut behind an element", `{"events":[{"a":1}`, []string{`{"a":1}`},
			"test: unexpected end of JSON text (at byte 18)"},
		{"cut behind a comma", `[{"a":1},`, []string{`{"a":1}`}, "test: unexpected end of JSON text (at byte 9)"},
		{"cut behind the array", `{"events":[1]`, []string{"1"}, "test: unexpected end of JSON text (at byte 13)"},
		{"cut within a key", `{"eve`, nil, "test: unexpected end of JSON text (at byte 5)"},
		{"no comma", `[{"a":1}{"b":2}]`, []string{`{"a":1}`}, "test: expected ',' or ']', found '{' (at byte 8)"},
		{"a comma behind the last", `{"events":[1 , ],}`, []string{"1"}, ""},
		{"no value", `{"v":}`, nil, "test: expected a value, found '}' (at byte 5)"},
		{"no colon", `{"v" 1}`, nil, "test: expected ':', found '1' (at byte 5)"},
		{"no array", `{"events":{"a":1}}`, nil, "test: expected an array, found '{' (at byte 10)"},
		{"no key", `{1:2}`, nil, "test: expected a string, found '1' (at byte 1)"},
		{"deep", `[` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `,1]`,
			[]string{strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), "1"}, ""},
		{"empty", ``, nil, "test: unexpected end of JSON text (at byte 0)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			sources := map[string]io.Reader{
				"whole":         strings.NewReader(test.text),
				"data with EOF": iotest.DataErrReader(strings.NewReader(test.text)),
			}
			if len(test.text) < jsonstream.MaxElement { // or it takes long
				sources["in halves"] = iotest.HalfReader(strings.NewReader(test.text))
				sources["bytewise"] = iotest.OneByteReader(strings.NewReader(test.text))
			}
			for name, src := range sources {
				got, err := events(src)
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Fatalf("%s: elements (-want +got):\n%s", name, diff)
				}
				if got := fmt.Sprint(err); err != nil && got != test.err || err == nil && test.err != "" {
					t.Errorf("%s: err = %v, want %q", name, err, test.err)
				}
				var syntax *op.SyntaxError
				if errors.As(err, &syntax) && syntax.Truncated != strings.Contains(test.err, "unexpected end") {
					t.Errorf("%s: truncated = %t for %q", name, syntax.Truncated, test.err)
				}
			}
		})
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
	for _, test := range []struct {
		name, text string
		want       []string
		err        bool
	}{
		{"lines", "{\"a\":1}\n{\"a\":2}\n", []string{`{"a":1}`, `{"a":2}`}, false},
		{"without separators", `{"a":1}{"a":2}`, []string{`{"a":1}`, `{"a":2}`}, false},
		{"indented", "{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}\n{\n}\n", []string{"{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}",
			"{\n}"}, false},
		{"a torn line", "{\"a\":[1\n{\"a\":2}\n", []string{"{\"a\":[1\n", `{"a":2}`}, false},
		{"a line torn in a string", "{\"a\":\"x\n{\"a\":2}\n", []string{"{\"a\":\"x\n", `{"a":2}`}, false},
		{"a torn tail", "{\"a\":1}\n{\"a\":", []string{`{"a":1}`}, true},
		{"other text", "listening on :80\n{\"a\":1}\n, [done]", []string{"listening on :80", `{"a":1}`, ", [done]"},
			false},
		{"nothing", " \n", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := jsonstream.NewReader(iotest.OneByteReader(strings.NewReader(test.text)), "test")
			var got []string
			for text, err := range r.Documents() {
				if err != nil {
					t.Error(err)
				}
				got = append(got, string(text))
			}
			check.Equal(t, "documents", test.want, got)
			if (r.Err() != nil) != test.err {
				t.Errorf("err = %v", r.Err())
			}
		})
	}
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
