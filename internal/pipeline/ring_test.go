package pipeline

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/encoding"
)

func TestRing(t *testing.T) {
	for _, tt := range []struct {
		size, puts, lost int
		want             []string
	}{
		{size: 3},
		{size: 3, puts: 2, want: []string{"0", "1"}},
		{size: 3, puts: 3, want: []string{"0", "1", "2"}},
		{size: 3, puts: 5, lost: 2, want: []string{"2", "3", "4"}},
		{size: 3, puts: 12, lost: 9, want: []string{"9", "10", "11"}},
		{size: 1, puts: 4, lost: 3, want: []string{"3"}},
	} {
		t.Run(fmt.Sprintf("%d of %d", tt.puts, tt.size), func(t *testing.T) {
			r := newRing(tt.size)
			for round := range 2 { // the second one reuses the memory
				lost := 0
				for i := range tt.puts {
					b := encoding.NewBatch(0)
					b.Records = fmt.Append(b.Records, i)
					if r.put(uint64(i), b) {
						lost++
					}
				}
				var got []string
				for _, rec := range r.all() {
					got = append(got, string(rec.record.Bytes))
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("round %d: records (-want +got):\n%s", round, diff)
				}
				if lost != tt.lost {
					t.Errorf("round %d: %d records are overwritten, want %d", round, lost, tt.lost)
				}
				r.clear()
				if n := len(r.all()); n != 0 {
					t.Errorf("round %d: %d records after clear", round, n)
				}
			}
		})
	}
}
