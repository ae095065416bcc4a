package workload

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/otel/attribute"
)

// putValue sets dst to a value of the kinds that operations have.
func putValue(dst pcommon.Value, v attribute.Value) {
	switch v.Type() {
	case attribute.INT64:
		dst.SetInt(v.AsInt64())
	case attribute.STRINGSLICE:
		list := dst.SetEmptySlice()
		for _, s := range v.AsStringSlice() {
			list.AppendEmpty().SetStr(s)
		}
	case attribute.INT64SLICE:
		list := dst.SetEmptySlice()
		for _, n := range v.AsInt64Slice() {
			list.AppendEmpty().SetInt(n)
		}
	case attribute.SLICE:
		list := dst.SetEmptySlice()
		for _, item := range v.AsSlice() {
			putValue(list.AppendEmpty(), item)
		}
	default:
		dst.SetStr(v.AsString())
	}
}
