package lexer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/text/lexer"
)

// value builds encoding/json's value through the Lexer. It recurses within the Lexer's depth limit.
func value(l *lexer.Lexer) any {
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
	var l lexer.Lexer
	l.Reset([]byte(text))
	v := value(&l)
	l.End()
	return v, l.Err()
}

func skip(text string) error {
	var l lexer.Lexer
	l.Reset([]byte(text))
	l.Skip()
	l.End()
	return l.Err()
}

// suite holds texts in the manner of the JSON test suites: valid, invalid and tricky ones. FuzzLexer begins with them.
var suite = []string{
	`null`, `true`, `false`, `0`, `-0`, `""`, `[]`, `{}`, ` [ ] `, "\t\r\n{\n}\t", `[1,2]`, `[1 , 2]`, `{"a":1}`,
	`{"a" : {"b" : [ ] } }`, `{"":0}`, `{"a":1,"a":2}`, `[null,true,false]`, `[[[[]]]]`, `1.5`, `-1.5e10`, `1E+2`,
	`1e-2`, `0.1`,
	`0e1`, `1e400`, `123456789012345678901234567890`, `"\u0041"`, `"\"\\\/\b\f\n\r\t"`, `"\ud83d\ude00"`, `"\ud83d"`,
	`"\ude00"`,
	`"\ud83d\u0041"`, `"\ud83dx"`, `"é€😀"`, "\"\xff\"", "\"\x7f\"", `"\u0000"`, `"\u2028"`,
	"\"a string of more than eight bytes \\n and more\"",

	``, ` `, `nul`, `nulll`, `True`, `tru`, `fals`, `NaN`, `Infinity`, `-`, `01`, `-01`, `+1`, `.5`, `1.`, `1.e1`, `1e`,
	`1e+`,
	`0x10`, `1_000`, `--1`, `"`, `"a`, `"\`, `"\x"`, `"\u"`, `"\u12"`, `"\u123g"`, `"\ud83d\u"`, `"\ud83d\uzzzz"`,
	`'a'`,
	"\"a\nb\"", "\"\x00\"", "\"12345678\x1f\"", "\"\\n\x01\"", `[`, `]`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `[1,,2]`,
	`[}`,
	`[1}`, `{`, `}`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{a:1}`, `{1:1}`, `{"a" 1}`, `{"a":}`,
	`{"a":1 "b":2}`,
	`{,}`, `{]`, `{"a":1]`, `[]]`, `{}{}`, `1 2`, `null,`, "[]\x00", "\x00", "[\x00]", "\ufeff[]", "[\u00a0]", `// x`,
	`[1]//`,
}

// checkValue compares v with encoding/json's value of text.
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
		var l lexer.Lexer
		l.Reset([]byte(test.text))
		l.Skip()
		l.End()
		if l.Err() == nil || l.Err().Error() != test.message {
			t.Errorf("%q: error %v, want %q", test.text, l.Err(), test.message)
		}
		if l.Offset() != test.offset || l.Truncated() != test.truncated {
			t.Errorf("%q: offset %d, truncated %v, want %d, %v", test.text, l.Offset(), l.Truncated(), test.offset,
				test.truncated)
		}
	}
}

// Every proper prefix of an object is truncated, never malformed in another way.
func TestTruncatedPrefixes(t *testing.T) {
	text := `{"a":[1.5e+3,"x\n\ud83d\ude00y",true,null,{"b":{}}],"c":-0}`
	for n := range text {
		var l lexer.Lexer
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
	if err := skip(nested(lexer.MaxDepth)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	for _, text := range []string{nested(lexer.MaxDepth + 1), strings.Repeat("[", 1e6), strings.Repeat(`{"a":`, 1e6)} {
		err := skip(text)
		check.Says(t, "beyond the limit", "nested deeper than 512", err)
	}
}

// After an error every method is a no-op, and loops over broken texts end.
func TestStickyError(t *testing.T) {
	var l lexer.Lexer
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

// Int and Micros agree with Number and the parse functions on the same texts.
func TestLexerNumbers(t *testing.T) {
	texts := []string{"0", "-0", "7", "-7", "123456789012345678", "1234567890123456789", "9223372036854775807",
		"9223372036854775808",
		"-9223372036854775808", "1.0", "1.5", "1.2345", "1e3", "1E3", "1e400", "01", "-01", "-", "--1", "x", "\"1\"",
		"null", "[1]", "",
		"1x", "1.", "1e"}
	for _, text := range texts {
		for _, behind := range []string{"", " ", ",", "]"} {
			verify := func(read func(*lexer.Lexer) (int64, bool), parse func([]byte) (int64, bool)) {
				t.Helper()
				var a, b lexer.Lexer
				a.Reset([]byte(text + behind))
				v, ok := read(&a)
				b.Reset([]byte(text + behind))
				want, wantOK := parse(b.Number())
				if ok != wantOK || v != want || a.Offset() != b.Offset() || (a.Err() == nil) != (b.Err() == nil) {
					t.Errorf("%q: %d, %v up to %d, %v, want %d, %v up to %d, %v", text+behind, v, ok, a.Offset(),
						a.Err(), want, wantOK,
						b.Offset(), b.Err())
				}
			}
			verify((*lexer.Lexer).Int, lexer.ParseInt)
			verify((*lexer.Lexer).Micros, lexer.ParseMicros)
		}
	}
}

func TestRaw(t *testing.T) {
	var l lexer.Lexer
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
	for _, text := range suite {
		f.Add(text)
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
