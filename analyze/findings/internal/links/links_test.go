package links_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/findings/internal/links"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// A faster link makes transfers shorter, without the latency of each, and fewer transfers have less of it.
func TestTransfersAreBytesAndLatency(t *testing.T) {
	const ms = 1_000_000
	for _, test := range []struct {
		name           string
		single, ns     int64 // of 50 more collectives
		rate           float64
		devices        int64
		hosts          int
		isSlow         bool
		each, few, all float64 // what is left: at the peak, of a tenth of the collectives, and at half of the peak
	}{
		{"long", 10, 8 * ms, 100, 8, 1, true, 0.35, 0.26, 0.6},
		{"short", 50, 0, 100, 4, 0, true, 0.379, 0.263, 0.629},
		{"near the peak", 10, 8 * ms, 300, 2, 1, false, 0.85, 0.76, 1},
		{"many devices", 10, 8 * ms, 100, 16, 1, false, 0, 0, 0},
		{"several hosts", 10, 8 * ms, 100, 8, 2, false, 0, 0, 0},
	} {
		rows := []collective.Row{
			{Count: 60, TransferNS: op.Known(int64(7 * ms)), BusBytesPerSecond: op.KnownFloat(test.rate)},
			{
				Count: 50, Single: test.single, TransferNS: op.Known(test.ns),
				BusBytesPerSecond: op.KnownFloat(test.rate),
			},
		}
		u := links.Of(rows, []peaks.Device{{LinkBytesPerSecond: 900}, {LinkBytesPerSecond: 400}}, test.devices, test.hosts)
		check.Equal(t, test.name+" is slow", test.isSlow, u.IsSlow())
		if test.devices > 8 || test.hosts > 1 {
			continue
		}
		near := func(what string, want, got float64) {
			if got < want-0.01 || got > want+0.01 {
				t.Errorf("%s, %s: %.3f is left, want %.3f", test.name, what, got, want)
			}
		}
		near("the peak", test.each, u.Factor(1, 1))
		near("a tenth of the collectives", test.few, u.Factor(1, 0.1))
		near("half of the peak", test.all, u.Factor(0.5, 1))
	}
}

// The first gather of each pass and the last reduction of a step have no computation beside them.
func TestCollectivesThatNothingHides(t *testing.T) {
	for _, test := range []struct {
		name                       string
		gathers, scatters, reduces int64
		want                       int64
	}{
		{"gradients", 0, 0, 12, 1},
		{"weights for both passes", 20, 10, 0, 3},
		{"weights for one pass", 10, 10, 1, 2},
		{"values of ranks", 3, 0, 12, 1},
	} {
		check.Equal(t, test.name, test.want, links.StayExposed(map[string]int64{
			"ncclDevKernel_AllGather_RING_LL": test.gathers,
			"reduce_scatter":                  test.scatters,
			"all_reduce":                      test.reduces,
		}))
	}
}
