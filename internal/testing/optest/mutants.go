package optest

import (
	"bytes"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/op"
)

// Found is what a reader found in a file: operations, other spans, records that it passed over,
// records that it reported, and the error that ended the reading.
type Found struct {
	Entries, Spans, Skipped, Malformed int
	Err                                error
}

// Find reads records to their end.
func Find(records iter.Seq2[op.Record, error]) (f Found) {
	for rec, err := range records {
		switch _, isSyntax := errors.AsType[*op.SyntaxError](err); {
		case isSyntax:
			f.Malformed++
		case err != nil:
			f.Err = err
		case rec.Entry != nil:
			f.Entries++
		case rec.Span != nil:
			f.Spans++
		case rec.Skipped.N > 0:
			f.Skipped++
		}
	}
	return f
}

// Mutants damages a sample of a binary format n times, and reports each mutant of which read
// finds neither operations nor a word about them. One that is cut off behind records that are passed over
// may be a whole file.
func Mutants(t *testing.T, n int, sample []byte, read func(text []byte) Found) {
	t.Helper()
	if f := read(sample); f.Entries == 0 || f.Malformed > 0 || f.Err != nil {
		t.Fatalf("undamaged: %+v", f)
	}
	silent := 0
	for seed := range n {
		text, how := mutant(rand.New(rand.NewPCG(uint64(seed), 4)), sample)
		if f := read(text); f.Entries+f.Malformed == 0 && f.Err == nil && (f.Skipped == 0 || how != cutOff) {
			silent++
			t.Logf("mutant %d: %s: nothing was found, and nothing said", seed, how)
		}
	}
	if silent > 0 {
		t.Errorf("%d mutants read as empty", silent)
	}
}

// cutOff is how a mutant was damaged that is the beginning of the sample.
const cutOff = "cut off"

// mutant returns a damaged copy of a sample that is not empty, and says how it was damaged.
func mutant(rng *rand.Rand, sample []byte) (text []byte, how string) {
	at := rng.IntN(len(sample))
	end := min(len(sample), at+1+rng.IntN(1+len(sample)/4))
	switch rng.IntN(4) {
	case 0:
		return bytes.Clone(sample[:min(2+at, len(sample))]), cutOff // one byte may be a newline, and a text of one is empty
	case 1:
		if end-at < len(sample) {
			return slices.Concat(sample[:at], sample[end:]), "a range removed"
		}
	case 2:
		return slices.Concat(sample[:end], sample[at:]), "a range doubled"
	}
	text = bytes.Clone(sample)
	for range 1 + rng.IntN(4) {
		text[rng.IntN(len(text))] ^= 1 << rng.IntN(8)
	}
	return text, "bits changed"
}
