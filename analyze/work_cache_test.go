package analyze

import (
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/internal/cases"
)

// Whatever is found is what was last put there, also when the table grows, begins anew or is
// cleared; and codes that came a moment ago are found.
func TestCodeWorks(t *testing.T) {
	cases.Seeds(t, 10, func(seed uint64, r *rand.Rand) {
		var works codeWorks
		want := make(map[workCodes]int64)
		most := []uint32{1, 3, 20, 1 << 16}[r.IntN(4)]
		for i := range int64(3 * maxWorks) {
			if r.IntN(maxWorks) == 0 {
				works.clear()
				clear(want)
			}
			codes := workCodes{r.Uint32N(most), r.Uint32N(most), r.Uint32N(most), r.Uint32N(3), r.Uint32N(2)}
			w, ok := works.find(codes)
			if flops, known := want[codes]; ok && (!known || w.flops != flops) {
				t.Fatalf("seed %d: %+v has %d, want %d, %t", seed, codes, w.flops, flops, known)
			} else if known && !ok && len(want) < maxWorks {
				t.Fatalf("seed %d: %+v is not found", seed, codes)
			}
			w.flops = i
			want[codes] = i
			if again, ok := works.find(codes); !ok || again.flops != i {
				t.Fatalf("seed %d: %+v is not found again", seed, codes)
			}
		}
		if n := len(works.works); n > maxWorks {
			t.Errorf("seed %d: %d are held, want at most %d", seed, n, maxWorks)
		}
	})
}
