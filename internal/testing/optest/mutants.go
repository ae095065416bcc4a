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

// Found counts the records in a file by kind. Err is the final error.
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

// Mutants damages a sample of a binary format n times. It reports mutants that read as empty without an
// error. A mutant cut off after skipped records may be a whole file.
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

// cutOff describes a mutant that is the beginning of the sample.
const cutOff = "cut off"

// mutant returns a damaged copy of a sample, and a description of the damage.
func mutant(rng *rand.Rand, sample []byte) (text []byte, how string) {
	at := rng.IntN(len(sample))
	end := min(len(sample), at+1+rng.IntN(1+len(sample)/4))
	switch rng.IntN(4) {
	case 0:
		// at least two bytes: a single newline is an empty text
		return bytes.Clone(sample[:min(2+at, len(sample))]), cutOff
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
