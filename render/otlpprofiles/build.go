package otlpprofiles

import (
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/stacknotes"
)

// The attributes of samples and profiles that are no attributes of operations.
const (
	keyShapes  = "tensor.op.shapes"
	keyComment = "pprof.profile.comment"
)

// value is one of the values of a row.
type value struct {
	name, unit string
	of         func(*stacks.Row) int64
}

// values lists the values that there are profiles of. Tools show the first one.
func values() []value {
	return []value{
		{"time", "nanoseconds", func(r *stacks.Row) int64 { return r.TimeNS }},
		{"self", "nanoseconds", func(r *stacks.Row) int64 { return r.SelfNS }},
		{"count", "count", func(r *stacks.Row) int64 { return r.Count }},
		{"bytes", "bytes", func(r *stacks.Row) int64 { return r.Bytes }},
		{"flops", "count", func(r *stacks.Row) int64 { return r.FLOPs }},
	}
}

// build returns the message of a table.
func build(t *stacks.Table, opts Options) *profilesData {
	d := newDictionary()
	rows := d.rows(t.Rows())
	comment := d.comment(stacknotes.Of(t, opts.Options))
	scoped := scopeProfiles{Scope: scope{Name: "github.com/optrace/optrace", Version: stacks.Clean(opts.Version)}}
	for _, v := range values() {
		p := profile{
			SampleType: d.valueType(v.name, v.unit),
			PeriodType: d.valueType("count", "count"), Period: 1, // every operation counts
			AttributeIndices: []int32{comment},
		}
		if t.Start.Known {
			p.TimeUnixNano, p.DurationNano = decimal(max(0, t.Start.V)), decimal(t.End.V-t.Start.V)
		}
		for i := range rows {
			if n := v.of(&rows[i].Row); n != 0 {
				s := rows[i].sample
				s.Values = []decimal{decimal(n)}
				p.Samples = append(p.Samples, s)
			}
		}
		scoped.Profiles = append(scoped.Profiles, p)
	}
	all := resourceProfiles{ScopeProfiles: []scopeProfiles{scoped}}
	for i := range opts.Resource {
		a := &opts.Resource[i]
		all.Resource.Attributes = append(all.Resource.Attributes, keyValue{stacks.Clean(a.Key), valueOf(a)})
	}
	return &profilesData{ResourceProfiles: []resourceProfiles{all}, Dictionary: d.tables}
}

// row is a row of a table and what identifies its samples.
type row struct {
	stacks.Row
	sample sample
}

// rows puts the stacks and labels of rows into the dictionary. Rows that differ in nothing
// that is left of them become one.
func (d *dictionary) rows(all []stacks.Row) []row {
	var rows []row
	byIdentity := make(map[string]int)
	for _, r := range all {
		s := sample{Stack: d.stack(r.Frames), Link: d.link(&r.Request)}
		for _, label := range [][2]string{
			{op.KeyDevice, r.Device}, {op.KeyKind, r.Kind.String()}, {keyShapes, r.Shape}, {op.KeyRoot, r.Request.Name},
		} {
			if text := stacks.Clean(label[1]); text != "" {
				s.AttributeIndices = append(s.AttributeIndices, d.attribute(label[0], text))
			}
		}
		identity := identityOf(append([]int32{s.Stack, s.Link}, s.AttributeIndices...))
		i, ok := byIdentity[identity]
		if !ok {
			byIdentity[identity] = len(rows)
			rows = append(rows, row{r, s})
			continue
		}
		rows[i].Add(r.Values)
	}
	return rows
}
