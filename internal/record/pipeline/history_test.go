package pipeline

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/internal/record/encoding"
)

// A history returns its records in order, and takes at most the memory of its records and a part.
func TestHistory(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const partSize = 4 << 10
	h := history{partSize: partSize}
	type record struct {
		sequence uint64
		text     string
	}
	var want []record
	b := encoding.NewBatch(0)
	for i := range uint64(100_000) {
		if rng.IntN(1000) == 0 {
			want = nil
			taken := h.take()
			if taken.records > 0 && taken.oldest() == 0 {
				t.Fatalf("step %d: a record without a number", i)
			}
		}
		if grows := i/5000%2 == 0; len(want) == 0 || rng.IntN(5) < 2 || grows && rng.IntN(5) > 0 {
			n := 1 + rng.IntN(600)
			if rng.IntN(200) == 0 {
				n = 3 * partSize
			}
			b.Reset()
			b.Records = append(b.Records, slices.Repeat([]byte{byte(i)}, n)...)
			b.Entries = int(i)
			need := h.need(b.Body())
			before := h.bytes
			h.put(i+1, b)
			if grown := h.bytes - before; grown > need+100 {
				t.Fatalf("step %d: a record takes %d bytes, want %d at most", i, grown, need)
			}
			want = append(want, record{i + 1, string(b.Body())})
		} else {
			sequence := h.oldest()
			if r := h.pop(); sequence != want[0].sequence || string(r.Bytes) != want[0].text ||
				r.Entries != int(sequence)-1 {
				t.Fatalf("step %d: record %d of %d bytes with %d entries, want %d of %d bytes",
					i, sequence, len(r.Bytes), r.Entries, want[0].sequence, len(want[0].text))
			}
			want = want[1:]
		}
		if h.records != len(want) || len(want) == 0 && h.bytes != 0 {
			t.Fatalf("step %d: %d records in %d bytes, want %d", i, h.records, h.bytes, len(want))
		}
	}
	text := 0
	for _, r := range want {
		text += len(r.text)
	}
	if h.bytes > 2*text+8*partSize {
		t.Errorf("%d bytes are taken for %d bytes of text", h.bytes, text)
	}
}

// A full history does not allocate.
func TestHistoryAllocations(t *testing.T) {
	h := history{partSize: 4 << 10}
	b := encoding.NewBatch(0)
	b.Records = append(b.Records, make([]byte, 300)...)
	put := func() {
		if h.records == 50 {
			h.pop()
		}
		h.put(1, b)
	}
	for range 1000 {
		put()
	}
	if n := testing.AllocsPerRun(1000, put); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
