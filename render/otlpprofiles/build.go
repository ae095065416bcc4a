package otlpprofiles

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/stacknotes"
	"github.com/optrace/optrace/render/internal/wire"
)

type message = wire.Message

// The attributes of samples, profiles and frames, other than attributes of operations.
const (
	keyShapes    = "tensor.op.shapes"
	keyComment   = "pprof.profile.comment"
	keyFrameType = "profile.frame.type"
)

// values are the values with a profile. Tools show the first one, time.
var values = slices.Concat(stacknotes.Values[1:3], stacknotes.Values[:1], stacknotes.Values[3:])

// build returns the message ProfilesData of a table, with the profiles of each producer.
func build(t *stacks.Table, opts Options) message {
	d := newDictionary()
	byProducer := make(map[stacks.Producer][]stacks.Row)
	for _, r := range t.Rows() {
		byProducer[r.Producer] = append(byProducer[r.Producer], r)
	}
	if len(byProducer) == 0 {
		byProducer[stacks.Producer{}] = nil
	}
	var comments []message
	for _, text := range stacknotes.Of(t, opts.Options) {
		comments = append(comments, wire.TextValue(text))
	}
	by := message{wire.F(1, "name", "github.com/optrace/optrace"), wire.F(2, "version", stacks.Clean(opts.Version))}
	from := cmp.Or(opts.Producers, &Producers{})
	var all []message
	for _, who := range slices.SortedFunc(maps.Keys(byProducer), stacks.Producer.Compare) {
		profiles := d.profiles(d.rows(byProducer[who]), t, wire.ListValue(comments))
		all = append(all, message{
			wire.F(1, "resource", message{wire.F(1, "attributes", wire.Attributes(clean(from.Of(who))))}),
			wire.F(2, "scopeProfiles", []message{{wire.F(1, "scope", by), wire.F(2, "profiles", profiles)}}),
		})
	}
	return message{wire.F(1, "resourceProfiles", all), wire.F(2, "dictionary", d.message())}
}

func clean(attrs []op.Attr) []op.Attr {
	attrs = slices.Clone(attrs)
	for i := range attrs {
		attrs[i].Key, attrs[i].Value = stacks.Clean(attrs[i].Key), stacks.Clean(attrs[i].Value)
	}
	return attrs
}

func (d *dictionary) profiles(rows []row, t *stacks.Table, comment message) (all []message) {
	comments := []int32{d.attribute(keyComment, comment)}
	var start wire.Fixed64
	var duration int64
	if t.Start.Known {
		start = wire.Fixed64(max(0, t.Start.V))
		duration = t.End.V - t.Start.V
	}
	for _, v := range values {
		var samples []message
		for i := range rows {
			if n := v.Of(&rows[i].Row); n != 0 {
				samples = append(samples, append(slices.Clip(rows[i].identity), wire.F(4, "values", []int64{n})))
			}
		}
		all = append(all, message{
			wire.F(1, "sampleType", d.valueType(v.Name, v.Unit)), wire.F(2, "samples", samples),
			wire.F(3, "timeUnixNano", start), wire.F(4, "durationNano", duration),
			// every operation counts
			wire.F(5, "periodType", d.valueType("count", "count")), wire.F(6, "period", int64(1)),
			wire.F(11, "attributeIndices", comments),
		})
	}
	return all
}

// row is a row of a table and the identity of its samples.
type row struct {
	stacks.Row
	identity message
}

// rows adds the stacks and labels of rows to the dictionary, and merges rows with equal identity.
func (d *dictionary) rows(all []stacks.Row) []row {
	var rows []row
	byIdentity := make(map[string]int)
	for _, r := range all {
		code := "" // the frame type: cuda for computation on a CUDA device
		if strings.HasPrefix(r.Device, "cuda:") && r.Kind != op.KindMemory {
			code = "cuda"
		}
		stack := d.stack(r.Frames, code)
		link := d.link(&r.Request)
		var attributes []int32
		for _, label := range [][2]string{
			{attrkey.Device, r.Device}, {attrkey.Kind, r.Kind.String()}, {keyShapes, r.Shape},
			{attrkey.Root, r.Request.Name},
		} {
			if text := stacks.Clean(label[1]); text != "" {
				attributes = append(attributes, d.attribute(label[0], wire.TextValue(text)))
			}
		}
		identity := message{wire.F(1, "stackIndex", stack), wire.F(2, "attributeIndices", attributes),
			wire.F(3, "linkIndex", link)}
		key := string(identity.AppendProto(nil))
		i, ok := byIdentity[key]
		if !ok {
			byIdentity[key] = len(rows)
			rows = append(rows, row{r, identity})
			continue
		}
		rows[i].Add(r.Values)
	}
	return rows
}
