package kineto

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/internal/check"
)

// tablesOf returns tables with operators and launches.
func tablesOf(ops []hostOp, launches []launch) *tables {
	t := &tables{}
	for _, o := range ops {
		*t.hostOps.add() = o
	}
	for _, l := range launches {
		*t.launches.add() = l
	}
	return t
}

func TestLaunchOf(t *testing.T) {
	j := newJoin(tablesOf(nil, []launch{
		{correlation: 5, start: 30}, {correlation: 2, start: 20}, {correlation: 5, start: 10}, {correlation: -1, start: 1},
	}))
	for _, test := range []struct {
		correlation int64
		has         known
		want        int64 // start, 0 for no launch
	}{
		{5, hasCorrelation, 10}, {2, hasCorrelation, 20}, {-1, hasCorrelation, 1},
		{3, hasCorrelation, 0}, {9, hasCorrelation, 0}, {5, 0, 0},
	} {
		got := int64(0)
		if l := j.launchOf(&deviceOp{correlation: test.correlation, has: test.has}); l != nil {
			got = l.start
		}
		check.Equal(t, fmt.Sprintf("correlation %d: launch at", test.correlation), test.want, got)
	}
}

func TestHostOpOf(t *testing.T) {
	j := newJoin(tablesOf([]hostOp{{external: 9}, {external: 4, name: 1}, {external: 4, name: 2}, {external: 0, name: 3}}, nil))
	for _, test := range []struct {
		name string
		d    deviceOp
		want uint32 // name, 9 for no operator
	}{
		{"by external id, the first of equals", deviceOp{external: 4, has: hasExternal}, 1},
		{"beside a correlation id that nothing has", deviceOp{external: 4, correlation: 7, has: hasExternal | hasCorrelation}, 1},
		{"an external id that repeats the correlation id", deviceOp{external: 4, correlation: 4, has: hasExternal | hasCorrelation}, 9},
		{"no external id", deviceOp{}, 9},
		{"an external id that nothing has", deviceOp{external: 5, has: hasExternal}, 9},
	} {
		got := uint32(9)
		if i := j.hostOpOf(&test.d, nil); i >= 0 {
			got = j.hostOps.at(i).name
		}
		check.Equal(t, fmt.Sprintf("%s: operator", test.name), test.want, got)
	}
	check.Equal(t, "the operator around the launch", 2, j.hostOpOf(&deviceOp{}, &launch{op: 2}))
}
