package otlpprofiles

import "google.golang.org/protobuf/encoding/protowire"

// fields are the fields of a message in protobuf. Values that are 0 or empty are left
// out, as protobuf has it, but for messages.
type fields []byte

func (f fields) message(n protowire.Number, m fields) fields {
	return protowire.AppendBytes(protowire.AppendTag(f, n, protowire.BytesType), m)
}

func (f fields) text(n protowire.Number, s string) fields {
	if s == "" {
		return f
	}
	return f.element(n, s)
}

// element appends a text that is one of a list, which may be empty.
func (f fields) element(n protowire.Number, s string) fields {
	return protowire.AppendString(protowire.AppendTag(f, n, protowire.BytesType), s)
}

func (f fields) varint(n protowire.Number, v int64) fields {
	if v == 0 {
		return f
	}
	return protowire.AppendVarint(protowire.AppendTag(f, n, protowire.VarintType), uint64(v))
}

func (f fields) fixed64(n protowire.Number, v int64) fields {
	if v == 0 {
		return f
	}
	return protowire.AppendFixed64(protowire.AppendTag(f, n, protowire.Fixed64Type), uint64(v))
}

// packed appends numbers that are not negative.
func packed[T ~int32 | ~int64](f fields, n protowire.Number, values []T) fields {
	if len(values) == 0 {
		return f
	}
	var list []byte
	for _, v := range values {
		list = protowire.AppendVarint(list, uint64(v))
	}
	return protowire.AppendBytes(protowire.AppendTag(f, n, protowire.BytesType), list)
}

func (d *profilesData) proto() (f fields) {
	for i := range d.ResourceProfiles {
		f = f.message(1, d.ResourceProfiles[i].proto())
	}
	return f.message(2, d.Dictionary.proto())
}

func (r *resourceProfiles) proto() (f fields) {
	var of fields
	for _, a := range r.Resource.Attributes {
		of = of.message(1, a.proto())
	}
	f = f.message(1, of)
	for i := range r.ScopeProfiles {
		f = f.message(2, r.ScopeProfiles[i].proto())
	}
	return f
}

func (s *scopeProfiles) proto() (f fields) {
	f = f.message(1, fields(nil).text(1, s.Scope.Name).text(2, s.Scope.Version))
	for i := range s.Profiles {
		f = f.message(2, s.Profiles[i].proto())
	}
	return f
}

func (p *profile) proto() (f fields) {
	f = f.message(1, p.SampleType.proto())
	for i := range p.Samples {
		f = f.message(2, p.Samples[i].proto())
	}
	f = f.fixed64(3, int64(p.TimeUnixNano)).varint(4, int64(p.DurationNano))
	f = f.message(5, p.PeriodType.proto()).varint(6, int64(p.Period))
	return packed(f, 11, p.AttributeIndices)
}

func (v *valueType) proto() fields {
	return fields(nil).varint(1, int64(v.Type)).varint(2, int64(v.Unit))
}

func (s *sample) proto() (f fields) {
	f = packed(f.varint(1, int64(s.Stack)), 2, s.AttributeIndices)
	return packed(f.varint(3, int64(s.Link)), 4, s.Values)
}

func (t *tables) proto() (f fields) {
	for range t.Mappings {
		f = f.message(1, nil)
	}
	for _, l := range t.Locations {
		var lines fields
		for _, line := range l.Lines {
			lines = lines.message(3, fields(nil).varint(1, int64(line.Function)))
		}
		f = f.message(2, lines)
	}
	for _, fn := range t.Functions {
		f = f.message(3, fields(nil).varint(1, int64(fn.Name)))
	}
	for _, l := range t.Links {
		f = f.message(4, fields(nil).message(1, fields(l.TraceID)).message(2, fields(l.SpanID)))
	}
	for _, s := range t.Strings {
		f = f.element(5, s)
	}
	for _, a := range t.Attributes {
		m := fields(nil).varint(1, int64(a.Key))
		if a.Value != nil {
			m = m.message(2, a.Value.proto())
		}
		f = f.message(6, m)
	}
	for _, s := range t.Stacks {
		f = f.message(7, packed(nil, 1, s.Locations))
	}
	return f
}
