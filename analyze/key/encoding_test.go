package key_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/op"
)

// Two entries have the same encoding exactly if all values of the keys are equal.
func TestKeyEncodingIsInjective(t *testing.T) {
	cases.Seeds(t, 20, func(seed uint64, r *rand.Rand) {
		var by []key.Key
		for _, i := range r.Perm(len(key.Names()))[:r.IntN(4)] {
			by = append(by, tracetest.Keys(key.Names()[i])...)
		}
		entries := tracetest.RandomEntries(r, 40)
		for i := range entries {
			for j := range entries {
				keyA := string(key.Append(nil, by, &entries[i]))
				keyB := string(key.Append(nil, by, &entries[j]))
				valuesA := key.Of(by, &entries[i])
				valuesB := key.Of(by, &entries[j])
				if (keyA == keyB) != cmp.Equal(valuesA, valuesB) {
					t.Fatalf("seed %d, by %v: %v and %v have the keys %q and %q", seed, by, valuesA, valuesB,
						keyA, keyB)
				}
			}
		}
	})
	by := tracetest.Keys("device,service")
	a := op.Entry{DeviceID: "ab", Service: "c"}
	b := op.Entry{DeviceID: "a", Service: "bc"}
	if string(key.Append(nil, by, &a)) == string(key.Append(nil, by, &b)) {
		t.Error("values run into each other")
	}
}

func BenchmarkEncodeKeys(b *testing.B) {
	by := tracetest.Keys("operation,device,shape,step")
	entries := tracetest.RandomEntries(rand.New(rand.NewPCG(1, 1)), 1000)
	var encoded []byte
	b.ReportAllocs()
	for b.Loop() {
		for i := range entries {
			encoded = key.Append(encoded[:0], by, &entries[i])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(entries)), "ns/operation")
}
