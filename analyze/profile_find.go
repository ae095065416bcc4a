package analyze

import (
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/op"
)

// rowFinder finds the rows of a profile by the codes of columns, which it looks up once
// per code.
type rowFinder struct {
	operationsOf, devicesOf, groupsOf columnVersions
	// operations is by code, first that of the device side and then that of the host side.
	operations []foundRow
	devices    [deviceSlots]deviceSlot
	// The groups of a single key that has codes are in single, as operations are, and
	// others in groups, which is nil without keys.
	single []foundRow
	groups *codeCache[foundRow]

	// These are of the rows of a list: what they are added to, how long they took, and
	// those that count in sums of their kind.
	sums      []*accumulator
	durations []int64
	special   []specialRow

	late lateRows
}

// foundRow is what the rows of some codes are added to.
type foundRow struct {
	sums      *accumulator
	evicted   *bool
	operation *operationRow // nil for a group

	inputs, output, dtype, dtypes lastCode
}

// newFoundRow returns what is added to an operation, if that is not nil, or to the sums of
// a group.
func newFoundRow(sums *accumulator, evicted *bool, operation *operationRow) foundRow {
	watched := lastCode{watched: math.MaxUint32}
	return foundRow{sums, evicted, operation, watched, watched, watched, watched}
}

// specialRow is a row of columns, and its place in the list of them.
type specialRow struct {
	found *foundRow
	at    int
	row   int32
}

func newRowFinder(keys []Key) *rowFinder {
	f := new(rowFinder)
	if len(keys) > 0 {
		f.groups = new(codeCache[foundRow])
	}
	return f
}

// columnVersions tells whether what is known of the codes of some columns still holds.
type columnVersions struct {
	of       *op.Columns
	versions [maxKeyCodes]int64
}

// turnTo reports whether the columns have other values than at the last call.
func (v *columnVersions) turnTo(c *op.Columns, versions ...int64) (changed bool) {
	if v.of == c && slices.Equal(v.versions[:len(versions)], versions) {
		return false
	}
	*v = columnVersions{of: c}
	copy(v.versions[:], versions)
	return true
}

// varietyVersions returns the versions of what varies within a row.
func varietyVersions(c *op.Columns) [4]int64 {
	return [4]int64{c.InputShapes.Version, c.OutputShape.Version, c.InputDTypes.Version, c.DType.Version}
}

// turnTo forgets what it knows of other codes.
func (f *rowFinder) turnTo(c *op.Columns, keys []Key) {
	v := varietyVersions(c)
	if f.operationsOf.turnTo(c, c.Operation.Version, v[0], v[1], v[2], v[3]) {
		clear(f.operations)
	}
	if n := 2 * len(c.Operation.Values); n > len(f.operations) { // values may join the others
		f.operations = append(f.operations, make([]foundRow, n-len(f.operations))...)
	}
	if f.devicesOf.turnTo(c, c.DeviceID.Version, c.Service.Version, c.Rank.Version) {
		clear(f.devices[:])
	}
	if len(keys) > 0 && f.groupsOf.turnTo(c, append(appendKeyVersions(nil, keys, c), v[:]...)...) {
		f.groups.clear()
		clear(f.single)
	}
	if _, n := codesOf(keys, c); 2*n > len(f.single) {
		f.single = append(f.single, make([]foundRow, 2*n-len(f.single))...)
	}
}

// find sets the sums to those of rows, which are known by the codes of a column, and adds
// what is the same for most rows of a code. Of rows that are not known, look tells what
// they are added to.
func (f *rowFinder) find(c *op.Columns, list []int32, codes []uint32, known []foundRow, look func(side, row int) foundRow) {
	f.sums, f.special = slices.Grow(f.sums[:0], len(list))[:len(list)], f.special[:0]
	sums, kinds, kindValues := f.sums, c.Kind.Codes, c.Kind.Values
	inputs, output, dtype, dtypes := c.InputShapes.Codes, c.OutputShape.Codes, c.DType.Codes, c.InputDTypes.Codes
	hosts := len(c.Side.Values) > 1
	for k, i := range list {
		side := 0
		if hosts {
			side = sideIndex(c.Side.At(int(i)))
		}
		found := &known[2*int(codes[i])+side]
		if found.sums == nil || *found.evicted {
			*found = look(side, int(i))
		}
		sums[k] = found.sums
		if found.inputs.differs(inputs[i])|found.output.differs(output[i])|found.dtype.differs(dtype[i])|found.dtypes.differs(dtypes[i]) != 0 {
			found.addVariety(c, int(i))
		}
		kind := kindValues[kinds[i]]
		found.sums.kinds |= 1 << kind
		if (kind == op.KindCollective || kind == op.KindMemory) && side == 0 {
			f.special = append(f.special, specialRow{found, k, i})
		}
	}
}

func (f *rowFinder) setDurations(c *op.Columns, list []int32) {
	f.durations = slices.Grow(f.durations[:0], len(list))[:len(list)]
	codes, values := c.Duration.Codes, c.Duration.Values
	for k, i := range list {
		f.durations[k] = values[codes[i]].V
	}
}

// lastCode is the code of a column that was last seen.
type lastCode struct {
	code    uint32
	watched uint32 // all bits as long as another code may matter, and then none
}

// differs returns 0 if a code is the last one or does not matter.
func (l *lastCode) differs(code uint32) uint32 { return (l.code ^ code) & l.watched }

// turnTo sets the last code, and whether the others matter.
func (l *lastCode) turnTo(code uint32, mixed bool) {
	if l.code = code; mixed {
		l.watched = 0
	}
}

// addVariety adds the shapes and element types of a row of columns, unless they are those
// that were last seen.
func (found *foundRow) addVariety(c *op.Columns, i int) {
	v := &found.sums.variety
	if k := c.InputShapes.Codes[i]; found.inputs.differs(k) != 0 {
		if !v.mixesInputs {
			v.addInputs(c.InputShapes.Values[k])
		}
		found.inputs.turnTo(k, v.mixesInputs)
	}
	if k := c.OutputShape.Codes[i]; found.output.differs(k) != 0 {
		if !v.mixesOutput {
			v.addOutput(c.OutputShape.Values[k])
		}
		found.output.turnTo(k, v.mixesOutput)
	}
	if k := c.DType.Codes[i]; found.dtype.differs(k) != 0 {
		if !v.mixesDType {
			v.addDType(c.DType.Values[k])
		}
		found.dtype.turnTo(k, v.mixesDType)
	}
	if k := c.InputDTypes.Codes[i]; found.dtypes.differs(k) != 0 {
		if !v.mixesDTypes {
			v.addDTypes(c.InputDTypes.Values[k])
		}
		found.dtypes.turnTo(k, v.mixesDTypes)
	}
}

// deviceSlot holds the row of a device, by the codes of its name, service and rank.
type deviceSlot struct {
	row                   *table.Row[deviceRow]
	device, service, rank uint32
}

// deviceSlots is a power of two.
const deviceSlots = 1 << 8

// deviceRowAt returns the row of the device of row i.
func (p *Profile) deviceRowAt(c *op.Columns, i int) *table.Row[deviceRow] {
	return p.deviceRow(&op.Entry{DeviceID: c.DeviceID.At(i), Rank: c.Rank.At(i), Service: c.Service.At(i)})
}
