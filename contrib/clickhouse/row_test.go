package clickhouse

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
)

func TestRowKeepsEntries(t *testing.T) {
	r := recordtest.Random{Rand: rand.New(rand.NewPCG(1, 1))}
	for range 2000 {
		rec := r.Record()
		e := rec.Entry
		if e == nil {
			continue
		}
		if r.Maybe() {
			e.Host = "h\x00'\\"
			e.DeviceID = ""
			e.EmptyDevice = r.Maybe()
		}
		var own row
		if !own.set(rec) {
			t.Fatalf("%+v has no row", rec)
		}
		check.Equal(t, "", e, own.entry())
	}
}

func TestRowsAreChecked(t *testing.T) {
	for _, values := range []map[string]any{
		{"record": recordEntry, "kind": "other"}, {"record": recordEntry, "trace_id": "xyz"},
		{"record": recordSpan, "span_id": "1"},
		{
			"record": recordSpan, "link_trace_ids": []string{"x"}, "link_span_ids": []string{""},
			"link_weights": []int64{0}, "link_weighted": []uint8{0},
		},
	} {
		var r row
		list := columns()
		for i, to := range r.places(list) {
			if v, ok := values[list[i].name]; ok {
				reflect.ValueOf(to).Elem().Set(reflect.ValueOf(v))
			}
		}
		check.Says(t, fmt.Sprint(values), "", r.scanned())
	}
}
