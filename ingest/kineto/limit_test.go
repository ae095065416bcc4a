package kineto

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/optrace/optrace/op"
)

// TestRowSizes holds the figures of the package comment.
func TestRowSizes(t *testing.T) {
	for _, test := range []struct {
		row       string
		got, want uintptr
	}{
		{"host operator, with its place in the order of the join", unsafe.Sizeof(hostOp{}) + unsafe.Sizeof(int32(0)), 52},
		{"runtime call, with its place too", unsafe.Sizeof(launch{}) + unsafe.Sizeof(int32(0)), 36},
		{"device event", unsafe.Sizeof(deviceOp{}), 72},
		{"collective", unsafe.Sizeof(collectiveRow{}), 56},
	} {
		if test.got != test.want {
			t.Errorf("%s: %d bytes, want %d", test.row, test.got, test.want)
		}
	}
}

func TestTablesAreLimited(t *testing.T) {
	const event = `{"ph":"X","cat":"kernel","name":"gemm","ts":1,"dur":2}`
	r := newReader(strings.NewReader("["+event+","+event+","+event+"]"), "trace", nil)
	var last error
	n := 0
	r.yield = func(_ op.Record, err error) bool {
		n++
		last = err
		return true
	}
	r.maxHeld = 200
	if r.readEvents() || n != 1 || last == nil || !strings.Contains(last.Error(), "of memory") {
		t.Errorf("%d records, err = %v", n, last)
	}
}
