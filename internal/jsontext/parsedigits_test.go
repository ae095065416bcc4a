package jsontext

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestParseDigits(t *testing.T) {
	check := func(s string) {
		t.Helper()
		got, ok := parseDigits([]byte(s))
		want, err := strconv.ParseUint(s, 10, 63)
		wantOK := err == nil && len(s) <= 19
		if ok != wantOK || ok && got != int64(want) {
			t.Fatalf("parseDigits(%q) = %d, %t, want %d, %t", s, got, ok, want, wantOK)
		}
	}
	for _, s := range []string{"", "0", "9", "00000000", "99999999", "12345678", "9223372036854775807", "9223372036854775808",
		"9999999999999999999", "10000000000000000000", "1760000000000557043"} {
		check(s)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		b := make([]byte, 1+rnd.IntN(20))
		for i := range b {
			b[i] = byte('0' + rnd.IntN(10))
		}
		check(string(b))
		b[rnd.IntN(len(b))] = byte(rnd.IntN(256)) // every other byte in every place
		if _, err := strconv.ParseUint(string(b), 10, 64); err == nil || b[0] == '+' {
			continue
		}
		if n, ok := parseDigits(b); ok {
			t.Fatalf("parseDigits(%q) = %d, want an error", b, n)
		}
	}
}
