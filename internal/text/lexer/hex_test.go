package lexer_test

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/text/lexer"
)

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
				if ok := lexer.DecodeHex(got, text); ok != (err == nil) || ok && !bytes.Equal(got, want) {
					t.Fatalf("DecodeHex(%q) = %x, %t, want %x, %v", text, got, ok, want, err)
				}
			}
		}
		check.Equal(t, "AppendHex", hex.EncodeToString(want), string(lexer.AppendHex(nil, want)))
	}
	for _, bad := range []string{"", "abc", "abcde"} {
		if lexer.DecodeHex(make([]byte, 2), []byte(bad)) {
			t.Errorf("DecodeHex accepts %q", bad)
		}
	}
}
