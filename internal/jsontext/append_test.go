package jsontext_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/jsontext"
)

func TestAppendDigits9(t *testing.T) {
	verify := func(v uint32) {
		t.Helper()
		check.Equal(t, fmt.Sprintf("AppendDigits9(%d) appends", v), fmt.Sprintf("x%09d", v), string(jsontext.AppendDigits9([]byte("x"), v)))
	}
	for p := uint32(1); p < 1e9; p *= 10 {
		verify(p - 1)
		verify(p)
		verify(9 * p)
	}
	verify(999_999_999)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		verify(rng.Uint32N(1e9))
	}
}
