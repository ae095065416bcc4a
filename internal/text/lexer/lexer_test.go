package lexer_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/scalar"
)

// scanTexts are texts that the functions of scan.go read or refuse.
var scanTexts = []string{
	"", "0", "00", "7", "-7", "-0", "-", "--1", "12345678", "123456789", "1234567,", "12345678,",
	"99999999999999999999999999", "9223372036854775807", "9223372036854775808", "18446744073709551616",
	"1760000000000557043", "01760000000000557043", "0.6", "0.", ".6", "1.23", "1.234", "1.2345", "12.5e1",
	"1e3", "123456789012345.678", "1234567890123456.7", "1.000,", "1.:", "7/", "7:", `""`, `"a"`, `"matmul",`,
	`"cuda:0"`, `"a string of more than eight bytes"`, `"`, `"a`, `"a\"`, `"a\n"`, "\"a\nb\"", "\"\xff\"",
	"\"\u2028\"", `"0123456789abcdef"`, `"0123456789ABCDEF"`, `"0123456789abcdeg"`, `"0123456789abcde"`,
	`"0123456789abcdef0"`, `"4d02081d276cbb954beb68be77c6566e"`, `"123"`, `"0123"`, `"-1"`,
	`"1760000000000557043"`, `"9223372036854775808"`, `"12`, `"1760000000000557043","end"`,
	`"9223372036854775807","end"`, `"9223372036854775808","end"`, `"0760000000000557043","end"`,
	`"176000000000055704:","end"`, `"1760000:00000557043","end"`, `"/760000000000557043","end"`,
}

// The number at the start of a text, as these functions take it.
var (
	digitsPattern = regexp.MustCompile(`^(?:0|[1-9][0-9]*)`)
	microsPattern = regexp.MustCompile(`^((?:0|[1-9][0-9]{0,14}))(?:\.([0-9]+))?`)
)

// checkScan checks every function at the start of text, with as much in front of
// it and behind it as the reading by words may go wrong with.
func checkScan(t *testing.T, text []byte) {
	t.Helper()
	for _, front := range []int{0, 1, 9} {
		b := append(bytes.Repeat([]byte{'7'}, front), text...)
		checkDigits(t, b, front)
		checkMicros(t, b, front)
		checkQuoted(t, b, front)
	}
}

func checkDigits(t *testing.T, b []byte, i int) {
	t.Helper()
	want := int64(0)
	wantEnd := -1
	number := digitsPattern.Find(b[i:])
	next := i + len(number)
	if number != nil && (next == len(b) || b[next] < '0' || b[next] > '9') {
		if n, err := strconv.ParseInt(string(number), 10, 64); err == nil {
			want = n
			wantEnd = next
		}
	}
	if got, end := lexer.Digits(b, i); end != wantEnd || end >= 0 && got != want {
		t.Errorf("Digits(%q, %d) = %d, %d, want %d, %d", b, i, got, end, want, wantEnd)
	}
	negative := slices.Insert(bytes.Clone(b), i, '-')
	if wantEnd >= 0 {
		wantEnd++
	}
	if got, end := lexer.Integer(negative, i); end != wantEnd || end >= 0 && got != -want {
		t.Errorf("Integer(%q, %d) = %d, %d, want %d, %d", negative, i, got, end, -want, wantEnd)
	}
}

func checkMicros(t *testing.T, b []byte, i int) {
	t.Helper()
	want := int64(0)
	wantEnd := -1
	if m := microsPattern.FindSubmatch(b[i:]); m != nil && len(m[2]) <= 3 {
		next := i + len(m[0])
		if next == len(b) || (b[next] < '0' || b[next] > '9') && (b[next] != '.' || m[2] != nil) {
			exact, ok := new(big.Rat).SetString(string(m[0]) + "e3")
			if !ok || !exact.IsInt() {
				t.Fatalf("%s is not a number of microseconds", m[0])
			}
			want = exact.Num().Int64()
			wantEnd = next
		}
	}
	if got, end := lexer.Micros(b, i); end != wantEnd || end >= 0 && got != want {
		t.Errorf("Micros(%q, %d) = %d, %d, want %d, %d", b, i, got, end, want, wantEnd)
	}
}

func checkQuoted(t *testing.T, b []byte, i int) {
	t.Helper()
	var want []byte
	wantEnd := -1
	if n := strings.IndexByte(string(b[min(i+1, len(b)):]), '"'); i < len(b) && b[i] == '"' && n >= 0 {
		if text := b[i+1 : i+1+n]; bytes.IndexFunc(text, func(r rune) bool { return r < ' ' || r == '\\' }) < 0 {
			want = text
			wantEnd = i + n + 2
			checkPlain(t, text)
		}
	}
	got, end := lexer.Quoted(b, i)
	if end != wantEnd || !bytes.Equal(got, want) {
		t.Errorf("Quoted(%q, %d) = %q, %d, want %q, %d", b, i, got, end, want, wantEnd)
	}
	checkWords(t, b, i, want, end)
	for _, size := range []int{4, 8, 16} {
		dst := make([]byte, size)
		wantEnd := -1
		if id, err := hex.DecodeString(string(want)); end >= 0 && err == nil && len(id) == size {
			wantEnd = end
			if lexer.QuotedHex(b, i, dst) != end || !bytes.Equal(dst, id) {
				t.Errorf("QuotedHex(%q, %d) reads %x, want %x", b, i, dst, id)
			}
		}
		check.Equal(t, fmt.Sprintf("QuotedHex(%q, %d) of %d bytes ends at", b, i, size), wantEnd,
			lexer.QuotedHex(b, i, dst))
	}
	n, err := strconv.ParseInt(string(want), 10, 64)
	if canonical := strconv.FormatInt(n, 10) == string(want) && n >= 0; end < 0 || err != nil || !canonical {
		n = 0
		wantEnd = -1
	}
	if got, end := lexer.QuotedDigits(b, i); end != wantEnd || end >= 0 && got != n {
		t.Errorf("QuotedDigits(%q, %d) = %d, %d, want %d, %d", b, i, got, end, n, wantEnd)
	}
}

// checkWords checks the words of a string of up to 23 bytes with enough text behind it.
func checkWords(t *testing.T, b []byte, i int, text []byte, end int) {
	t.Helper()
	b = append(bytes.Clone(b), bytes.Repeat([]byte{'x'}, 25)...)
	first, second, third, got := lexer.QuotedWords(b, i)
	switch {
	case end < 0:
		return // strings with escapes are read too
	case len(text) > 23:
		check.Equal(t, fmt.Sprintf("QuotedWords(%q, %d) ends at", b, i), -1, got)
		return
	}
	words := binary.LittleEndian.AppendUint64(nil, first)
	words = binary.LittleEndian.AppendUint64(words, second)
	words = binary.LittleEndian.AppendUint64(words, third)
	want := append(append(bytes.Clone(text), make([]byte, 23-len(text))...), byte(len(text)))
	if got != end || !bytes.Equal(words, want) {
		t.Errorf("QuotedWords(%q, %d) = %q, %d, want %q, %d", b, i, words, got, want, end)
	}
}

// checkPlain compares a text without escapes with encoding/json.
func checkPlain(t *testing.T, text []byte) {
	t.Helper()
	var got string
	if err := json.Unmarshal([]byte(`"`+string(text)+`"`), &got); err != nil || got != string([]rune(string(text))) {
		t.Errorf("%q is %q, %v to encoding/json", text, got, err)
	}
}

func TestScan(t *testing.T) {
	for _, text := range scanTexts {
		for _, behind := range []string{"", ",", "}", `,"next":12345678`, "12345678", ".5", `"`, "\x80",
			"\xff\xff\xff\xff\xff\xff\xff\xff"} {
			checkScan(t, []byte(text+behind))
		}
	}
}

// Every byte in every place of numbers and strings of every length.
func TestScanRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for range 20_000 {
		b := make([]byte, 1+rng.IntN(24))
		for i := range b {
			b[i] = "0123456789"[rng.IntN(10)]
		}
		if rng.IntN(2) == 0 {
			b[0], b[len(b)-1] = '"', '"'
		}
		checkScan(t, b)
		b[rng.IntN(len(b))] = byte(rng.Uint32())
		checkScan(t, b)
	}
}

// A list of numbers is read as each number is, up to the bracket.
func TestShortList(t *testing.T) {
	golden.Lines(t, "testdata/lists.txt", func(text string) string {
		list, end := lexer.ShortList([]byte(text), 0, []int64{7})
		for _, behind := range []string{"        ", "12345678"} {
			other, at := lexer.ShortList([]byte(text+behind), 0, []int64{7})
			if at != end || end > 0 && !slices.Equal(other, list) {
				t.Errorf("ShortList(%q) = %d, %d, without the end %d, %d", text+behind, other, at, list, end)
			}
		}
		if end < 0 {
			return "none"
		}
		return fmt.Sprint(list[1:], " up to ", end)
	})
}

func TestLiteral(t *testing.T) {
	b := []byte(`{"name":1}`)
	for _, test := range []struct {
		at   int
		text string
		want int
	}{
		{0, `{"name":`, 8}, {1, `"name"`, 7}, {8, "1}", 10}, {10, "", 10}, {0, "", 0},
		{0, `{"nama":`, -1}, {8, "1},", -1}, {10, "}", -1}, {11, "", -1}, {-1, "", -1}, {-1, "{", -1},
	} {
		check.Equal(t, fmt.Sprintf("Literal(%s, %d, %q)", b, test.at, test.text), test.want,
			lexer.Literal(b, test.at, test.text))
	}
}

// No value is read at an index outside the text.
func TestScanOutside(t *testing.T) {
	b := []byte(`"12345678"`)
	for _, i := range []int{-1, len(b), len(b) + 9} {
		_, quoted := lexer.Quoted(b, i)
		_, digits := lexer.Digits(b, i)
		_, integer := lexer.Integer(b, i)
		_, quotedDigits := lexer.QuotedDigits(b, i)
		_, micros := lexer.Micros(b, i)
		_, list := lexer.ShortList(b, i, nil)
		_, _, _, words := lexer.QuotedWords(b, i)
		ends := []int{
			list, words, quoted, digits, integer, quotedDigits, micros, lexer.QuotedHex(b, i, make([]byte, 4))}
		for n, end := range ends {
			check.Equal(t, fmt.Sprintf("function %d at %d ends at", n, i), -1, end)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, text := range scanTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(checkScan)
}

// A Name is read where exactly its text stands, with enough of anything behind it.
func TestNameRead(t *testing.T) {
	const text = `,"startTimeUnixNano":"17`
	for size := 8; size <= len(text); size++ {
		name := lexer.NewName(text[:size])
		for _, at := range []int{0, 1, 9} {
			b := []byte(strings.Repeat(",", at) + text[:size] + strings.Repeat("x", 24))
			check.Equal(t, fmt.Sprintf("%q at %d ends at", text[:size], at), at+size, name.Read(b, at))
			for i := at; i < at+size; i++ {
				b[i] ^= 1
				if end := name.Read(b, at); end != -1 {
					t.Errorf("%q is read in %q", text[:size], b[at:])
				}
				b[i] ^= 1
			}
			check.Equal(t, fmt.Sprintf("%q at -1 ends at", text[:size]), -1, name.Read(b, -1))
			check.Equal(t, fmt.Sprintf("%q with 23 bytes left ends at", text[:size]), -1, name.Read(b[:at+23], at))
		}
	}
}

// passTexts are values, valid and broken.
var passTexts = []string{
	`{}`, `[]`, `{ }`, "[\n]", `{"a":1}`, "{\r\n\t\"a\" : [ 1 , -2.5e+3 ,\"x\"] , \"b\":{\"c\":null}}",
	`[true,false,null]`, `[[],[[]],{}]`,
	`"\u00e9\n\"\\\/\b\f\r\t"`, `"\ud83d\ude00"`, `"\ud83d"`, "\"\xff\"", `0`, `-0`, `1.25`, `1e5`, `1E-5`,
	`{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `[,]`, `[1,]`, `[1 2]`, `{"a" 1}`, `{1:2}`, `[}`, `{]`, `[1}`, `{"a":1]`,
	`{"a":[1}}`, `]`, `}`, `,`,
	`"\x"`, `"\u12g4"`, `"\u12`, `"a`, `"a\`, "\"a\nb\"", "\"\x01\"", `01`, `-`, `1.`, `.5`, `1e`, `+1`, `tru`,
	`nul`, `falsy`, "\x01", "{\x01}",
	`{"a":1,"a":2}`, `["` + strings.Repeat("x", 40) + `\n` + strings.Repeat("y", 40) + `"]`,
	`[        1,` + strings.Repeat(" ", 100) + `2]`,
	strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat(`{"a":`, 63) + "1" + strings.Repeat("}", 63),
}

// checkPassed compares Value with the lexer on a text with something in front of it and behind it.
func checkPassed(t *testing.T, text []byte) {
	t.Helper()
	for _, behind := range []string{"", ",", " }", "x", "12345678"} {
		b := append([]byte("[7,"), text...)
		start := len("[7,")
		b = append(b, behind...)
		var l lexer.Lexer
		l.Reset(b[start:])
		want := -1
		if l.Peek(); l.Offset() == 0 {
			if l.Skip(); l.Err() == nil {
				want = start + l.Offset()
			}
		}
		got := lexer.Value(b, start)
		if got != want && !(got < 0 && bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("[")) > 64) {
			t.Errorf("Value(%q, %d) = %d, want %d", b, start, got, want)
		}
	}
}

func TestValue(t *testing.T) {
	for _, text := range passTexts {
		checkPassed(t, []byte(text))
		for i := range text {
			checkPassed(t, []byte(text[:i]))
		}
	}
	check.Equal(t, "Value at -1", -1, lexer.Value(nil, -1))
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	check.Equal(t, "Value of 65 lists", -1, lexer.Value([]byte(deep), 0))
}

// TestValueRandom breaks valid values in one place.
func TestValueRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const alphabet = `{}[],:"\0123456789.eE+-tfn axu` + "\n\t\x01\xff"
	for range 20_000 {
		text := []byte(passTexts[rng.IntN(len(passTexts))])
		for range 1 + rng.IntN(2) {
			text[rng.IntN(len(text))] = alphabet[rng.IntN(len(alphabet))]
		}
		checkPassed(t, text)
	}
}

// The lines of spaces.txt are closing brackets, indices and texts.
func TestSpaceAndNext(t *testing.T) {
	golden.Lines(t, "testdata/spaces.txt", func(line string) string {
		index, text, _ := strings.Cut(line[2:], " ")
		at := check.Must(strconv.Atoi(index))(t)
		next, more := lexer.Next([]byte(text), at, line[0])
		return fmt.Sprintf("space up to %d, next at %d, more %t", lexer.Space([]byte(text), at), next, more)
	})
}

func TestMember(t *testing.T) {
	golden.Lines(t, "testdata/members.txt", func(line string) string {
		key, value := lexer.Member([]byte(strings.TrimPrefix(line, "text ")), 0)
		return fmt.Sprintf("key %q, value at %d", key, value)
	})
}

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
	`{"a" : {"b" : [ ] } }`, `{"":0}`, `{"a":1,"a":2}`, `[null,true,false]`, `[[[[]]]]`, `1.5`, `-1.5e10`,
	`1E+2`, `1e-2`, `0.1`, `0e1`, `1e400`, `123456789012345678901234567890`, `"\u0041"`, `"\"\\\/\b\f\n\r\t"`,
	`"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`, `"\ud83d\u0041"`, `"\ud83dx"`, `"é€😀"`, "\"\xff\"", "\"\x7f\"",
	`"\u0000"`, `"\u2028"`, "\"a string of more than eight bytes \\n and more\"", ``, ` `, `nul`, `nulll`,
	`True`, `tru`, `fals`, `NaN`, `Infinity`, `-`, `01`, `-01`, `+1`, `.5`, `1.`, `1.e1`, `1e`, `1e+`, `0x10`,
	`1_000`, `--1`, `"`, `"a`, `"\`, `"\x"`, `"\u"`, `"\u12"`, `"\u123g"`, `"\ud83d\u"`, `"\ud83d\uzzzz"`,
	`'a'`, "\"a\nb\"", "\"\x00\"", "\"12345678\x1f\"", "\"\\n\x01\"", `[`, `]`, `[1`, `[1,`, `[1,]`, `[,1]`,
	`[1 2]`, `[1,,2]`, `[}`, `[1}`, `{`, `}`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{a:1}`,
	`{1:1}`, `{"a" 1}`, `{"a":}`, `{"a":1 "b":2}`, `{,}`, `{]`, `{"a":1]`, `[]]`, `{}{}`, `1 2`, `null,`,
	"[]\x00", "\x00", "[\x00]", "\ufeff[]", "[\u00a0]", `// x`, `[1]//`,
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
	golden.Lines(t, "testdata/errors.txt", func(text string) string {
		var l lexer.Lexer
		l.Reset([]byte(text))
		l.Skip()
		l.End()
		return fmt.Sprintf("%v, at byte %d, truncated %t", l.Err(), l.Offset(), l.Truncated())
	})
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
		"9223372036854775808", "-9223372036854775808", "1.0", "1.5", "1.2345", "1e3", "1E3", "1e400", "01", "-01",
		"-", "--1", "x", "\"1\"", "null", "[1]", "", "1x", "1.", "1e"}
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
						a.Err(), want, wantOK, b.Offset(), b.Err())
				}
			}
			verify((*lexer.Lexer).Int, scalar.ParseInt)
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

func TestMend(t *testing.T) {
	golden.Lines(t, "testdata/mend.txt", func(text string) string {
		got, found := lexer.Mend([]byte(text), 2)
		check.Equal(t, text+": found", text != string(got), found)
		return string(got)
	})
}
