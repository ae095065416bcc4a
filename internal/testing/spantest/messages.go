package spantest

import (
	"encoding/binary"
	"testing"
)

// Messages splits text into messages. The length of each precedes it in four bytes.
func Messages(tb testing.TB, text []byte) (all [][]byte) {
	tb.Helper()
	for len(text) > 0 {
		if len(text) < 4 || uint32(len(text)-4) < binary.BigEndian.Uint32(text) {
			tb.Fatalf("the last message is cut off: %d bytes are left", len(text))
		}
		end := 4 + binary.BigEndian.Uint32(text)
		all = append(all, text[4:end])
		text = text[end:]
	}
	return all
}
