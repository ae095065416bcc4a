package record

import (
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/live"
)

// The cost of a span in package live's processor: sums, percentiles and the latest operations.
func BenchmarkLiveProcessor(b *testing.B) {
	set := sets[2]
	batches := check.Must(sdkBatches(b.Context(), set, set.ops(), minBatches))(b)
	p := check.Must(live.NewProcessor())(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p.OnEnd(batches[i/batchSize%len(batches)][i%batchSize])
	}
	check.OK(b, p.Shutdown(b.Context()))
}
