package span

import "go.opentelemetry.io/otel/attribute"

// EachElement calls f with each element of a list.
func EachElement(v attribute.Value, f func(attribute.Value)) {
	switch v.Type() {
	case attribute.BOOLSLICE:
		each(v.AsBoolSlice(), attribute.BoolValue, f)
	case attribute.INT64SLICE:
		each(v.AsInt64Slice(), attribute.Int64Value, f)
	case attribute.FLOAT64SLICE:
		each(v.AsFloat64Slice(), attribute.Float64Value, f)
	case attribute.STRINGSLICE:
		each(v.AsStringSlice(), attribute.StringValue, f)
	case attribute.SLICE:
		for _, e := range v.AsSlice() {
			f(e)
		}
	}
}

func each[T any](list []T, value func(T) attribute.Value, f func(attribute.Value)) {
	for _, e := range list {
		f(value(e))
	}
}
