package lexer_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/text/lexer"
)

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

func TestSpaceAndNext(t *testing.T) {
	for _, test := range []struct {
		text    string
		at      int
		space   int
		next    int
		more    bool
		closing byte
	}{
		{"x", 0, 0, -1, false, '}'}, {"", 0, 0, -1, false, '}'}, {"}", -1, -1, -1, false, '}'},
		{" \n\t\r  ,  x", 0, 6, 9, true, '}'}, {"          }", 0, 10, 11, false, '}'},
		{"          ]", 0, 10, -1, false, '}'},
		{"\n                 ]", 0, 18, 19, false, ']'},
		{" \x01", 0, 1, -1, false, ']'},
	} {
		b := []byte(test.text)
		check.Equal(t, fmt.Sprintf("Space(%q, %d)", b, test.at), test.space, lexer.Space(b, test.at))
		if next, more := lexer.Next(b, test.at, test.closing); next != test.next || more != test.more {
			t.Errorf("Next(%q, %d) = %d, %t, want %d, %t", b, test.at, next, more, test.next, test.more)
		}
	}
}

func TestMember(t *testing.T) {
	for _, test := range []struct {
		text, key string
		value     int
	}{
		{`"a":1`, "a", 4}, {`"ab": 1`, "ab", 6}, {`"":1`, "", 3}, {`"a" :1`, "a", 5}, {"\"a\" \n:\t  1", "a", 9},
		{`"a\n":1`, "", -1}, {`a`, "", -1}, {`"a"`, "", -1},
	} {
		if key, value := lexer.Member([]byte(test.text), 0); value != test.value || value >= 0 &&
			string(key) != test.key {
			t.Errorf("Member(%q) = %q, %d", test.text, key, value)
		}
	}
}
