package jsontext_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/internal/jsontext"
)

func TestAppendDigits9(t *testing.T) {
	check := func(v uint32) {
		t.Helper()
		if got, want := string(jsontext.AppendDigits9([]byte("x"), v)), fmt.Sprintf("x%09d", v); got != want {
			t.Errorf("AppendDigits9(%d) appends %s, want %s", v, got, want)
		}
	}
	for p := uint32(1); p < 1e9; p *= 10 {
		check(p - 1)
		check(p)
		check(9 * p)
	}
	check(999_999_999)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		check(rng.Uint32N(1e9))
	}
}
