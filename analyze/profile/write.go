package profile

import (
	"math/bits"

	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/op"
)

// EachLine calls f with the lines of p.
func (p *Profile) EachLine(f func(*Line)) {
	f(&Line{Totals: totalsFormOf(p)})
	for side := range p.operations {
		name := op.Side(side).String()
		p.operations[side].Each(func(_ string, row *operationRow, other *table.Other) {
			f(&Line{Operation: &operationForm{
				Name: row.name, Side: name, Other: other, sumsForm: sumsFormOf(&row.accumulator),
				Communications: row.communications, CommunicationNS: row.communicated,
			}})
		})
		p.groups[side].Each(func(_ string, row *groupRow, other *table.Other) {
			f(&Line{Group: &groupForm{Values: row.values, Side: name, Other: other, sumsForm: sumsFormOf(&row.accumulator)}})
		})
	}
	p.devices.Each(func(_ string, row *deviceRow, other *table.Other) {
		f(&Line{Device: &deviceForm{row.key, other, row.deviceSums}})
	})
	for _, e := range p.slowest.sorted() {
		f(&Line{Slowest: e.entry.AppendJSON(nil)})
	}
	for _, e := range p.hotspots.sorted() {
		f(&Line{Hotspot: e.entry.AppendJSON(nil)})
	}
}

func totalsFormOf(p *Profile) *totalsForm {
	f := &totalsForm{totals: p.totals, Hotspots: p.hotCount}
	for d := hostToDevice; d < numDirections; d++ {
		if c := p.copies[d]; c.Count > 0 {
			f.Copies = append(f.Copies, copyForm{directionNames[d], c})
		}
	}
	return f
}

func sumsFormOf(a *accumulator) sumsForm {
	f := sumsForm{sums: a.sums, Weighted: a.weighted, Work: a.work}
	f.setVariety(&a.variety)
	f.Durations, f.Bins = a.durations.Form()
	for k := a.kinds; k != 0; k &= k - 1 {
		f.Kinds = append(f.Kinds, op.Kind(bits.TrailingZeros8(k)).String())
	}
	if !a.slowest.SpanID.IsZero() {
		f.Exemplar = &exemplarForm{a.slowest.TraceID, a.slowest.SpanID}
	}
	return f
}

// setVariety sets the values that all entries share, and the names of those that differ.
// Which value came first says nothing then.
func (f *sumsForm) setVariety(v *variety) {
	for i, mixes := range v.flags() {
		if *mixes {
			f.Mixes = append(f.Mixes, varietyNames[i])
		}
	}
	if !v.mixesInputs {
		f.InputShapes = v.inputs
	}
	if !v.mixesOutput {
		f.OutputShape = v.output
	}
	if !v.mixesDType {
		f.DType = v.dtype
	}
	if !v.mixesDTypes {
		f.InputDTypes = v.dtypes
	}
}

// varietyNames are the names of the differences in the order of flags.
var varietyNames = [...]string{"input_shapes", "output_shape", "dtype", "input_dtypes"}

func (v *variety) flags() [len(varietyNames)]*bool {
	return [...]*bool{&v.mixesInputs, &v.mixesOutput, &v.mixesDType, &v.mixesDTypes}
}
