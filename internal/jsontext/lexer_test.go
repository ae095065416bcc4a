package jsontext_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/jsontext"
)

// value builds the value that encoding/json would, through the Lexer. It recurses: the
// Lexer's depth limit bounds it.
func value(l *jsontext.Lexer) any {
	switch c := l.Peek(); c {
	case '{':
		m := map[string]any{}
		for l.Object(); l.More(); {
			k := strings.ToValidUTF8(string([]rune(string(l.Key()))), "")
			m[k] = value(l)
		}
		return m
	case '[':
		a := []any{}
		for l.Array(); l.More(); {
			a = append(a, value(l))
		}
		return a
	case '"':
		return string([]rune(string(l.Str()))) // as encoding/json repairs UTF-8
	case 't', 'f':
		return l.Bool()
	case 'n':
		l.Null()
		return nil
	default:
		return json.Number(l.Number())
	}
}

func parse(text string) (any, error) {
	var l jsontext.Lexer
	l.Reset([]byte(text))
	v := value(&l)
	l.End()
	return v, l.Err()
}

func skip(text string) error {
	var l jsontext.Lexer
	l.Reset([]byte(text))
	l.Skip()
	l.End()
	return l.Err()
}

// suite holds texts in the manner of the JSON test suites: valid ones, invalid ones, and
// cases that readers often get wrong.
var suite = []struct {
	text string
	ok   bool
}{
	{`null`, true}, {`true`, true}, {`false`, true}, {`0`, true}, {`-0`, true}, {`""`, true}, {`[]`, true}, {`{}`, true},
	{` [ ] `, true}, {"\t\r\n{\n}\t", true}, {`[1,2]`, true}, {`[1 , 2]`, true}, {`{"a":1}`, true}, {`{"a" : {"b" : [ ] } }`, true},
	{`{"":0}`, true}, {`{"a":1,"a":2}`, true}, {`[null,true,false]`, true}, {`[[[[]]]]`, true},
	{`1.5`, true}, {`-1.5e10`, true}, {`1E+2`, true}, {`1e-2`, true}, {`0.1`, true}, {`0e1`, true}, {`1e400`, true},
	{`123456789012345678901234567890`, true},
	{`"\u0041"`, true}, {`"\"\\\/\b\f\n\r\t"`, true}, {`"\ud83d\ude00"`, true}, {`"\ud83d"`, true}, {`"\ude00"`, true},
	{`"\ud83d\u0041"`, true},
	{`"\ud83dx"`, true},
	{`"é€😀"`, true}, {"\"\xff\"", true}, {"\"\x7f\"", true}, {`"\u0000"`, true}, {`"\u2028"`, true},
	{"\"a string of more than eight bytes \\n and more\"", true},

	{``, false}, {` `, false}, {`nul`, false}, {`nulll`, false}, {`True`, false}, {`tru`, false}, {`fals`, false}, {`NaN`, false},
	{`Infinity`, false}, {`-`, false},
	{`01`, false}, {`-01`, false}, {`+1`, false}, {`.5`, false}, {`1.`, false}, {`1.e1`, false}, {`1e`, false},
	{`1e+`, false}, {`0x10`, false},
	{`1_000`, false}, {`--1`, false},
	{`"`, false}, {`"a`, false}, {`"\`, false}, {`"\x"`, false}, {`"\u"`, false}, {`"\u12"`, false}, {`"\u123g"`, false},
	{`"\ud83d\u"`, false},
	{`"\ud83d\uzzzz"`, false}, {`'a'`, false},
	{"\"a\nb\"", false}, {"\"\x00\"", false}, {"\"12345678\x1f\"", false}, {"\"\\n\x01\"", false},
	{`[`, false}, {`]`, false}, {`[1`, false}, {`[1,`, false}, {`[1,]`, false}, {`[,1]`, false}, {`[1 2]`, false}, {`[1,,2]`, false},
	{`[}`, false}, {`[1}`, false},
	{`{`, false}, {`}`, false}, {`{"a"`, false}, {`{"a":`, false}, {`{"a":1`, false}, {`{"a":1,`, false}, {`{"a":1,}`, false},
	{`{a:1}`, false},
	{`{1:1}`, false}, {`{"a" 1}`, false}, {`{"a":}`, false}, {`{"a":1 "b":2}`, false}, {`{,}`, false}, {`{]`, false},
	{`{"a":1]`, false},
	{`[]]`, false}, {`{}{}`, false}, {`1 2`, false}, {`null,`, false}, {"[]\x00", false}, {"\x00", false},
	{"[\x00]", false}, {"\ufeff[]", false}, {"[\u00a0]", false}, {`// x`, false}, {`[1]//`, false},
}

func TestSuite(t *testing.T) {
	for _, test := range suite {
		check.Equal(t, fmt.Sprintf("%q: the table says %v, encoding/json", test.text, test.ok), test.ok, json.Valid([]byte(test.text)))
		v, err := parse(test.text)
		if (err == nil) != test.ok {
			t.Errorf("reading %q: error %v, accepted should be %v", test.text, err, test.ok)
		}
		if err := skip(test.text); (err == nil) != test.ok {
			t.Errorf("skipping %q: error %v, accepted should be %v", test.text, err, test.ok)
		}
		if err == nil {
			checkValue(t, test.text, v)
		}
	}
}

// checkValue compares v with the value that encoding/json reads from text.
func checkValue(t *testing.T, text string, v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var want any
	if err := d.Decode(&want); err != nil {
		t.Fatalf("encoding/json rejects %q: %v", text, err)
	}
	check.Equal(t, fmt.Sprintf("value of %q: lexer against encoding/json", text), want, v)
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		text      string
		message   string
		offset    int
		truncated bool
	}{
		{`{"a":1,"b"x}`, `expected ':', found 'x'`, 10, false},
		{`[1 2]`, `expected ',' or ']', found '2'`, 3, false},
		{`[1,]`, `expected a value after ',', found ']'`, 3, false},
		{`[é]`, `expected a value, found 'é'`, 1, false},
		{`["a` + "\x01" + `"]`, `control character in a string`, 3, false},
		{`["ab\q"]`, `invalid escape in a string`, 4, false},
		{`["ab\u12x4"]`, `invalid \u escape in a string`, 4, false},
		{`[1]x`, `expected the end of the JSON text, found 'x'`, 3, false},
		{`[1.x]`, `expected a digit, found 'x'`, 3, false},
		{`[nult]`, `expected null, found 'n'`, 1, false},
		{`{"a":`, `unexpected end of JSON text`, 5, true},
		{`{"a":"bc`, `unexpected end of JSON text`, 8, true},
		{`{"a":"b\u00`, `unexpected end of JSON text`, 11, true},
		{`{"a":tr`, `unexpected end of JSON text`, 7, true},
		{`{"a":-`, `unexpected end of JSON text`, 6, true},
		{`[1`, `unexpected end of JSON text`, 2, true},
		{``, `unexpected end of JSON text`, 0, true},
	} {
		var l jsontext.Lexer
		l.Reset([]byte(test.text))
		l.Skip()
		l.End()
		if l.Err() == nil || l.Err().Error() != test.message {
			t.Errorf("%q: error %v, want %q", test.text, l.Err(), test.message)
		}
		if l.Offset() != test.offset || l.Truncated() != test.truncated {
			t.Errorf("%q: offset %d, truncated %v, want %d, %v", test.text, l.Offset(), l.Truncated(), test.offset, test.truncated)
		}
	}
}

// Every proper prefix of an object is truncated, never malformed in another way.
func TestTruncatedPrefixes(t *testing.T) {
	text := `{"a":[1.5e+3,"x\n\ud83d\ude00y",true,null,{"b":{}}],"c":-0}`
	for n := range text {
		var l jsontext.Lexer
		l.Reset([]byte(text[:n]))
		l.Skip()
		l.End()
		if !l.Truncated() {
			t.Errorf("%q: error %v, want truncated", text[:n], l.Err())
		}
	}
}

func TestDepthLimit(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	if err := skip(nested(jsontext.MaxDepth)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	for _, text := range []string{nested(jsontext.MaxDepth + 1), strings.Repeat("[", 1e6), strings.Repeat(`{"a":`, 1e6)} {
		err := skip(text)
		check.Says(t, "beyond the limit", "nested deeper than 512", err)
	}
}

// After an error every method is a no-op, so that loops over broken texts end.
func TestStickyError(t *testing.T) {
	var l jsontext.Lexer
	l.Reset([]byte(`{"a":x,"b":1}`))
	for l.Object(); l.More(); {
		l.Key()
		l.Number()
	}
	first := l.Err()
	if first == nil {
		t.Fatal("no error")
	}
	l.Object()
	l.Array()
	l.Skip()
	l.End()
	if l.More() || l.Bool() || l.Null() || l.Str() != nil || l.Number() != nil || l.Raw() != nil || l.Peek() != 0 {
		t.Error("a method returned something after an error")
	}
	if l.Err() != first {
		t.Errorf("error changed from %v to %v", first, l.Err())
	}
	l.Reset([]byte(`1`))
	if l.Skip(); l.Err() != nil {
		t.Errorf("after Reset: %v", l.Err())
	}
}

// Int and Micros return the same as Number and the functions that parse its text, for the same texts.
func TestLexerNumbers(t *testing.T) {
	texts := []string{"0", "-0", "7", "-7", "123456789012345678", "1234567890123456789", "9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "1.0", "1.5", "1.2345", "1e3", "1E3", "1e400", "01", "-01", "-", "--1", "x", "\"1\"", "null", "[1]", "",
		"1x", "1.", "1e"}
	for _, text := range texts {
		for _, behind := range []string{"", " ", ",", "]"} {
			verify := func(read func(*jsontext.Lexer) (int64, bool), parse func([]byte) (int64, bool)) {
				t.Helper()
				var a, b jsontext.Lexer
				a.Reset([]byte(text + behind))
				v, ok := read(&a)
				b.Reset([]byte(text + behind))
				want, wantOK := parse(b.Number())
				if ok != wantOK || v != want || a.Offset() != b.Offset() || (a.Err() == nil) != (b.Err() == nil) {
					t.Errorf("%q: %d, %v up to %d, %v, want %d, %v up to %d, %v", text+behind, v, ok, a.Offset(), a.Err(), want, wantOK,
						b.Offset(), b.Err())
				}
			}
			verify((*jsontext.Lexer).Int, jsontext.ParseInt)
			verify((*jsontext.Lexer).Micros, jsontext.ParseMicros)
		}
	}
}

func TestRaw(t *testing.T) {
	var l jsontext.Lexer
	l.Reset([]byte(` [ {"a" : [1, 2]} , "x" ]`))
	var got []string
	for l.Array(); l.More(); {
		got = append(got, string(l.Raw()))
	}
	if diff := cmp.Diff([]string{`{"a" : [1, 2]}`, `"x"`}, got); diff != "" || l.Err() != nil {
		t.Errorf("raw values (-want +got), error %v:\n%s", l.Err(), diff)
	}
}

func FuzzLexer(f *testing.F) {
	for _, test := range suite {
		f.Add(test.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parse(text)
		skipErr := skip(text)
		if (err == nil) != (skipErr == nil) {
			t.Fatalf("%q: reading gives %v, skipping %v", text, err, skipErr)
		}
		valid := json.Valid([]byte(text))
		if err != nil && valid && strings.Contains(err.Error(), "nested deeper") {
			return
		}
		if (err == nil) != valid {
			t.Fatalf("%q: error %v, encoding/json says valid %v", text, err, valid)
		}
		if valid {
			checkValue(t, text, v)
		}
	})
}
