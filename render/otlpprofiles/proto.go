package otlpprofiles

import "github.com/optrace/optrace/render/internal/wire"

func (d *profilesData) proto() (f wire.Fields) {
	for i := range d.ResourceProfiles {
		f = f.Message(1, d.ResourceProfiles[i].proto())
	}
	return f.Message(2, d.Dictionary.proto())
}

func (r *resourceProfiles) proto() (f wire.Fields) {
	var of wire.Fields
	for _, a := range r.Resource.Attributes {
		of = of.Message(1, a.proto())
	}
	f = f.Message(1, of)
	for i := range r.ScopeProfiles {
		f = f.Message(2, r.ScopeProfiles[i].proto())
	}
	return f
}

func (s *scopeProfiles) proto() (f wire.Fields) {
	f = f.Message(1, wire.Fields(nil).Text(1, s.Scope.Name).Text(2, s.Scope.Version))
	for i := range s.Profiles {
		f = f.Message(2, s.Profiles[i].proto())
	}
	return f
}

func (p *profile) proto() (f wire.Fields) {
	f = f.Message(1, p.SampleType.proto())
	for i := range p.Samples {
		f = f.Message(2, p.Samples[i].proto())
	}
	f = f.Fixed64(3, int64(p.TimeUnixNano)).Varint(4, int64(p.DurationNano))
	f = f.Message(5, p.PeriodType.proto()).Varint(6, int64(p.Period))
	return wire.Packed(f, 11, p.AttributeIndices)
}

func (v *valueType) proto() wire.Fields {
	return wire.Fields(nil).Varint(1, int64(v.Type)).Varint(2, int64(v.Unit))
}

func (s *sample) proto() (f wire.Fields) {
	f = wire.Packed(f.Varint(1, int64(s.Stack)), 2, s.AttributeIndices)
	return wire.Packed(f.Varint(3, int64(s.Link)), 4, s.Values)
}

func (t *tables) proto() (f wire.Fields) {
	for range t.Mappings {
		f = f.Message(1, nil)
	}
	for _, l := range t.Locations {
		var lines wire.Fields
		for _, line := range l.Lines {
			lines = lines.Message(3, wire.Fields(nil).Varint(1, int64(line.Function)))
		}
		f = f.Message(2, wire.Packed(lines, 4, l.AttributeIndices))
	}
	for _, fn := range t.Functions {
		f = f.Message(3, wire.Fields(nil).Varint(1, int64(fn.Name)))
	}
	for _, l := range t.Links {
		f = f.Message(4, wire.Fields(nil).Text(1, string(l.TraceID)).Text(2, string(l.SpanID)))
	}
	for _, s := range t.Strings {
		f = f.Element(5, s)
	}
	for _, a := range t.Attributes {
		m := wire.Fields(nil).Varint(1, int64(a.Key))
		if a.Value != nil {
			m = m.Message(2, a.Value.proto())
		}
		f = f.Message(6, m)
	}
	for _, s := range t.Stacks {
		f = f.Message(7, wire.Packed(nil, 1, s.Locations))
	}
	return f
}
