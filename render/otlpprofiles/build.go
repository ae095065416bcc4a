package otlpprofiles

import (
	"maps"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/stacknotes"
)

// The attributes of samples and profiles that are no attributes of operations.
const (
	keyShapes  = "tensor.op.shapes"
	keyComment = "pprof.profile.comment"
)

// keyFrameType is the attribute of a frame that says what code it is.
const keyFrameType = "profile.frame.type"

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

// build returns the message of a table: the profiles of each producer.
func build(t *stacks.Table, opts Options) *profilesData {
	d := newDictionary()
	byProducer := make(map[stacks.Producer][]stacks.Row)
	for _, r := range t.Rows() {
		byProducer[r.Producer] = append(byProducer[r.Producer], r)
	}
	if len(byProducer) == 0 {
		byProducer[stacks.Producer{}] = nil
	}
	all := make([]resourceProfiles, len(byProducer))
	rows := make([][]row, len(byProducer))
	for i, who := range slices.SortedFunc(maps.Keys(byProducer), stacks.Producer.Compare) {
		rows[i] = d.rows(byProducer[who])
		if opts.Producers != nil {
			all[i].Resource.Attributes = attributesOf(opts.Producers.Of(who))
		}
	}
	comment := d.comment(stacknotes.Of(t, opts.Options))
	by := scope{Name: "github.com/optrace/optrace", Version: stacks.Clean(opts.Version)}
	for i := range all {
		all[i].ScopeProfiles = []scopeProfiles{{by, d.profiles(rows[i], t, comment)}}
	}
	return &profilesData{ResourceProfiles: all, Dictionary: d.tables}
}

// profiles returns the profiles of some rows of a table.
func (d *dictionary) profiles(rows []row, t *stacks.Table, comment int32) (all []profile) {
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
		all = append(all, p)
	}
	return all
}

// attributesOf returns the attributes of a resource.
func attributesOf(attrs []op.Attr) (all []keyValue) {
	for i := range attrs {
		all = append(all, keyValue{stacks.Clean(attrs[i].Key), valueOf(&attrs[i])})
	}
	return all
}

// row is a row of a table and what identifies its samples.
type row struct {
	stacks.Row
	sample sample
}

// codeOf returns the type of an operation's frame: cuda for what a CUDA device computes.
func codeOf(r *stacks.Row) string {
	if strings.HasPrefix(r.Device, "cuda:") && r.Kind != op.KindMemory {
		return "cuda"
	}
	return ""
}

// rows puts the stacks and labels of rows into the dictionary. Rows that differ in nothing
// that is left of them become one.
func (d *dictionary) rows(all []stacks.Row) []row {
	var rows []row
	byIdentity := make(map[string]int)
	for _, r := range all {
		s := sample{Stack: d.stack(r.Frames, codeOf(&r)), Link: d.link(&r.Request)}
		for _, label := range [][2]string{
			{attrkey.Device, r.Device}, {attrkey.Kind, r.Kind.String()}, {keyShapes, r.Shape}, {attrkey.Root, r.Request.Name},
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
