package scalar_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/scalar"
)

var awkwardStrings = []string{
	"", "matmul", "a string of more than eight bytes", `"`, `\`, `quote " and backslash \ late in the string`,
	"\x00\x01\b\t\n\f\r\x1f\x7f", "é€😀", "\u2028\u2029", "</script>", "\xff", "a\xc3", "\xed\xa0\x80", "1234567\x80",
	"\xf0\x9f\x98", "exactly8", "exactly8\n", strings.Repeat("x", 1000) + "\"",
}

// encoding/json and the Lexer read AppendString's text alike.
func checkString(t *testing.T, s string) {
	t.Helper()
	text := scalar.AppendString(nil, s)
	var got string
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("AppendString(%q) = %s: %v", s, text, err)
	}
	want := string([]rune(s)) // each byte outside UTF-8 becomes U+FFFD
	check.Equal(t, fmt.Sprintf("AppendString(%q) reads back as", s), want, got)
	check.Equal(t, fmt.Sprintf("ValidUTF8(%q)", s), want, scalar.ValidUTF8(s))
	var l lexer.Lexer
	l.Reset(text)
	if got := string(l.Str()); got != want || l.Err() != nil {
		t.Errorf("Str of %s = %q, %v, want %q", text, got, l.Err(), want)
	}
	if bytes.ContainsAny(text, "\u2028\u2029\x7f") {
		t.Errorf("AppendString(%q) = %s holds a character that breaks others", s, text)
	}
}

func TestAppendString(t *testing.T) {
	for _, s := range awkwardStrings {
		checkString(t, s)
	}
	r := rand.New(rand.NewPCG(5, 6))
	alphabet := []string{"a", "matmul", `"`, `\`, "\n", "\x01", "é", "\u2028", "\xff", "\xc3", "😀"}
	for range 2000 {
		var s strings.Builder
		for range r.IntN(20) {
			s.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		checkString(t, s.String())
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range awkwardStrings {
		f.Add(s)
	}
	f.Fuzz(checkString)
}

// AppendHex agrees with encoding/hex. DecodeHex accepts the same bytes in every place, beside all kinds of digits.
func TestHex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for size := range 20 {
		text := make([]byte, 2*size)
		want := make([]byte, size)
		got := make([]byte, size)
		for place := range text {
			for c := range 256 {
				for i := range text {
					text[i] = "0123456789abcdefABCDEF"[rng.IntN(22)]
				}
				text[place] = byte(c)
				_, err := hex.Decode(want, text)
				if ok := scalar.DecodeHex(got, text); ok != (err == nil) || ok && !bytes.Equal(got, want) {
					t.Fatalf("DecodeHex(%q) = %x, %t, want %x, %v", text, got, ok, want, err)
				}
			}
		}
		check.Equal(t, "AppendHex", hex.EncodeToString(want), string(scalar.AppendHex(nil, want)))
	}
	for _, bad := range []string{"", "abc", "abcde"} {
		if scalar.DecodeHex(make([]byte, 2), []byte(bad)) {
			t.Errorf("DecodeHex accepts %q", bad)
		}
	}
}

// numbers are tricky texts, numbers and others.
var numbers = []string{
	"0", "-0", "7", "-7", "007", "999999999999999999", "9007199254740993", "9007199254740993.0", "9223372036854775807",
	"9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551616", "2.0", "2.50",
	"2.5e1", "25e-1",
	"250e-1", "1e3", "1E+3", "1e18", "1e19", "1e400", "0e999999999999999999999", "0e999999999999999999999x",
	"1e-999999999999999999999", "0.0000000000000000000001e22", "1.0000000000000000000001", "", "-", "+1", "1 ", "1.",
	".5", ".",
	"1e", "1e+", "e1", "1.2.0", "0x10", "0x1p4", "1_000", "inf", "NaN", "1e1e1", "1", "100.0", "0.6", "0.125", "-5",
	"0.0005", "0.00049999", "-0.0005", "1.2345", "1.5e-3", "1e-9", "9223372036854775.807", "9223372036854775.8074",
	"9223372036854775.8075", "9223372036854775.808", "-9223372036854775.808", "-9223372036854775.8085", "1e16", "x",
}

// randomNumber returns a number of the JSON grammar with digits around the limits of 64 bits and of a nanosecond.
func randomNumber(r *rand.Rand) string {
	text := ""
	if r.IntN(2) == 0 {
		text = "-"
	}
	text += strconv.FormatUint(r.Uint64()>>r.IntN(64), 10)
	if r.IntN(2) == 0 {
		text += "."
		for range 1 + r.IntN(8) {
			text += string(rune('0' + r.IntN(10)*r.IntN(2)))
		}
	}
	if r.IntN(3) == 0 {
		text += "e" + strconv.Itoa(r.IntN(30)-15)
	}
	return text
}

var (
	number       = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	hugeExponent = regexp.MustCompile(`(e-?)[0-9]{5,}`)
)

// Both parsers are exact: they agree with arithmetic on rationals.
func TestParseAgainstRationals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	texts := slices.Clone(numbers)
	for range 20000 {
		texts = append(texts, randomNumber(r))
	}
	for _, text := range texts {
		n, ok := scalar.ParseInt([]byte(text))
		ns, nsOK := lexer.ParseMicros([]byte(text))
		if !number.MatchString(text) {
			if ok || nsOK {
				t.Errorf("%q: ParseInt returns %d, %v, ParseMicros %d, %v", text, n, ok, ns, nsOK)
			}
			continue
		}
		exact, _ := new(big.Rat).SetString(hugeExponent.ReplaceAllString(text, "${1}9999"))
		if want := exact.IsInt() && exact.Num().IsInt64(); ok != want || ok && n != exact.Num().Int64() {
			t.Fatalf("ParseInt(%s) = %d, %v, exactly %s", text, n, ok, exact)
		}

		exactNS := new(big.Rat).Mul(exact, big.NewRat(1000, 1))
		away := new(big.Rat).Add(new(big.Rat).Abs(exactNS), big.NewRat(1, 2))
		rounded := new(big.Int).Quo(away.Num(), away.Denom())
		if exact.Sign() < 0 {
			rounded.Neg(rounded)
		}
		if want := rounded.IsInt64(); nsOK != want || nsOK && ns != rounded.Int64() {
			t.Fatalf("ParseMicros(%s) = %d, %v, exactly %s", text, ns, nsOK, exactNS)
		}
	}
}

func TestAppendMicrosRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	values := []int64{0, 1, 10, 100, 999, 1000, 1001, -1, -600, -1000, math.MaxInt64, math.MinInt64}
	for range 10000 {
		values = append(values, int64(r.Uint64())>>r.IntN(64))
	}
	for _, ns := range values {
		text := scalar.AppendMicros(nil, ns)
		if !json.Valid(text) {
			t.Fatalf("AppendMicros(%d) = %s is no JSON", ns, text)
		}
		exact, _ := new(big.Rat).SetString(string(text))
		if exact.Cmp(big.NewRat(ns, 1000)) != 0 {
			t.Fatalf("AppendMicros(%d) = %s", ns, text)
		}
		if back, ok := lexer.ParseMicros(text); !ok || back != ns {
			t.Fatalf("ParseMicros(AppendMicros(%d)) = %d, %v", ns, back, ok)
		}
	}
	for ns, want := range map[int64]string{600: "0.6", 1000: "1", 125: "0.125", 1010: "1.01", -600: "-0.6", 0: "0"} {
		check.Equal(t, fmt.Sprintf("AppendMicros(%d)", ns), want, string(scalar.AppendMicros(nil, ns)))
	}
}

func TestFloats(t *testing.T) {
	for _, f := range []float64{0, 1, -1, 0.5, 4.000000000001, 1e-7, 1e21, 1e300, math.MaxFloat64,
		math.SmallestNonzeroFloat64, 1 << 53} {
		text := scalar.AppendFloat(nil, f)
		if back, ok := scalar.ParseFloat(text); !json.Valid(text) || !ok || back != f {
			t.Errorf("AppendFloat(%g) = %s, back %g, %v", f, text, back, ok)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		check.Equal(t, fmt.Sprintf("AppendFloat(%g)", f), "null", string(scalar.AppendFloat(nil, f)))
	}
	if _, ok := scalar.ParseFloat([]byte("1e400")); ok {
		t.Error("ParseFloat(1e400) is ok")
	}
}

func TestIntegralFloat(t *testing.T) {
	golden.Lines(t, "testdata/integral.txt", func(text string) string {
		n, ok := scalar.IntegralFloat(check.Must(strconv.ParseFloat(text, 64))(t))
		return fmt.Sprint(n, " ", ok)
	})
}
