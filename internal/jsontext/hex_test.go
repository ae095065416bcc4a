package jsontext

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"testing"
)

// DecodeHex accepts every byte in every place, beside digits of all kinds, that
// encoding/hex accepts, and no other.
func TestDecodeHexChecksEveryByte(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{2, 8, 16} {
		text := make([]byte, 2*size)
		for place := range text {
			for c := range 256 {
				for i := range text {
					text[i] = "0123456789abcdefABCDEF"[rng.IntN(22)]
				}
				text[place] = byte(c)
				want := make([]byte, size)
				_, err := hex.Decode(want, text)
				got := make([]byte, size)
				if ok := DecodeHex(got, text); ok != (err == nil) || ok && !bytes.Equal(got, want) {
					t.Fatalf("DecodeHex(%q) = %x, %t, want %x, %v", text, got, ok, want, err)
				}
			}
		}
	}
}
