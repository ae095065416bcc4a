package op

import (
	"strconv"
	"strings"
)

// The attributes of an operation, as they are written. Names have no unit
// suffix; sizes are bytes, shapes are element counts per dimension.
const (
	// KeyName names the operation and makes a span one. The span's name is the
	// same and has few distinct values.
	KeyName = "tensor.op.name"
	// KeyKind is compute, collective, memory, io or control.
	KeyKind = "tensor.op.kind"
	// KeyPath is the layer or module path.
	KeyPath = "tensor.op.path"
	// KeyFLOPs is the number of floating-point operations.
	KeyFLOPs = "tensor.op.flop_count"
	// KeySide is "host" for the host's view of device work.
	KeySide = "tensor.op.side"
	// KeyInputShapes is a slice of int slices, a shape per input.
	KeyInputShapes = "tensor.input.shapes"
	// KeyInputDTypes is a string slice, an element type per input.
	KeyInputDTypes = "tensor.input.dtypes"
	// KeyOutputShape is an int slice.
	KeyOutputShape = "tensor.output.shape"
	// KeyOutputElements states the number of output elements where no shape does.
	KeyOutputElements = "tensor.output.elements"
	// KeyDType is the element type of the output.
	KeyDType = "tensor.dtype"
	// KeyDevice is the device, such as "cuda:0" or "cpu".
	KeyDevice = "tensor.device.id"
	// KeyStream is the device's queue.
	KeyStream = "tensor.stream.id"
	// KeyStep is the iteration.
	KeyStep = "tensor.step"
	// KeyMemory is the size in bytes.
	KeyMemory = "tensor.memory.size"
	// KeyCollective names the collective operation.
	KeyCollective = "tensor.collective.name"
	// KeyGroup and KeyGroupSize name and size the process group.
	KeyGroup     = "tensor.collective.group.name"
	KeyGroupSize = "tensor.collective.group.size"
	// KeySequence numbers the collectives of a group.
	KeySequence = "tensor.collective.sequence"
	// KeyPeerRank is the other side of a send or receive.
	KeyPeerRank = "tensor.collective.peer_rank"
	// KeyInElements and KeyOutElements are message sizes in elements.
	KeyInElements  = "tensor.collective.in_elements"
	KeyOutElements = "tensor.collective.out_elements"
	// KeyRank and KeyWorldSize stand on the resource.
	KeyRank      = "tensor.rank"
	KeyWorldSize = "tensor.world_size"

	// KeyServiceName is OpenTelemetry's attribute of the resource.
	KeyServiceName = "service.name"
)

// The shape of one input per attribute: tensor.input.0.shape.
const (
	inputShapePrefix = "tensor.input."
	inputShapeSuffix = ".shape"
)

// InputShapeKey returns the key of the i-th input where each input has an
// attribute of its own.
func InputShapeKey(i int) string { return inputShapePrefix + strconv.Itoa(i) + inputShapeSuffix }

// Field is what an attribute says of an operation.
type Field uint8

// The fields.
const (
	FieldNone Field = iota
	FieldName
	FieldKind
	FieldPath
	FieldFLOPs
	FieldSide
	FieldInputShapes
	FieldInputDTypes
	FieldOutputShape
	FieldOutputElements
	FieldDType
	FieldDevice
	FieldDeviceType
	FieldDeviceIndex
	FieldStream
	FieldStep
	FieldMemory
	FieldDeviceMemory
	FieldCollective
	FieldGroup
	FieldGroupSize
	FieldSequence
	FieldPeerRank
	FieldInElements
	FieldOutElements
	FieldRank
	FieldWorldSize

	fieldInputShapeAt // one input of several, by index
	numFields
)

// family says how much a key's name tells, and which key wins where several
// set one field.
type family uint8

const (
	familyNone family = iota
	// familyBare: short names that other instrumentation uses too.
	familyBare
	// familyAlias: what a user added.
	familyAlias
	// familyTorch: torch.profiler's OpenTelemetry keys.
	familyTorch
	// familyIndexed: tensor.input.N.shape.
	familyIndexed
	// familyTensor: the convention.
	familyTensor
)

// target is what a key maps to.
type target struct {
	field  Field
	family family
	keep   bool  // also wanted in Entry.Attrs
	index  int16 // of the input, for fieldInputShapeAt
}

// conventions is the mapping from attribute keys to fields, whole.
var conventions = map[string]target{
	KeyName:           {field: FieldName, family: familyTensor},
	KeyKind:           {field: FieldKind, family: familyTensor},
	KeyPath:           {field: FieldPath, family: familyTensor},
	KeyFLOPs:          {field: FieldFLOPs, family: familyTensor},
	KeySide:           {field: FieldSide, family: familyTensor},
	KeyInputShapes:    {field: FieldInputShapes, family: familyTensor},
	KeyInputDTypes:    {field: FieldInputDTypes, family: familyTensor},
	KeyOutputShape:    {field: FieldOutputShape, family: familyTensor},
	KeyOutputElements: {field: FieldOutputElements, family: familyTensor},
	KeyDType:          {field: FieldDType, family: familyTensor},
	KeyDevice:         {field: FieldDevice, family: familyTensor},
	KeyStream:         {field: FieldStream, family: familyTensor},
	KeyStep:           {field: FieldStep, family: familyTensor},
	KeyMemory:         {field: FieldMemory, family: familyTensor},
	KeyCollective:     {field: FieldCollective, family: familyTensor},
	KeyGroup:          {field: FieldGroup, family: familyTensor},
	KeyGroupSize:      {field: FieldGroupSize, family: familyTensor},
	KeySequence:       {field: FieldSequence, family: familyTensor},
	KeyPeerRank:       {field: FieldPeerRank, family: familyTensor},
	KeyInElements:     {field: FieldInElements, family: familyTensor},
	KeyOutElements:    {field: FieldOutElements, family: familyTensor},
	KeyRank:           {field: FieldRank, family: familyTensor},
	KeyWorldSize:      {field: FieldWorldSize, family: familyTensor},

	"pytorch.input_shapes":              {field: FieldInputShapes, family: familyTorch},
	"pytorch.input_dtypes":              {field: FieldInputDTypes, family: familyTorch},
	"pytorch.device.type":               {field: FieldDeviceType, family: familyTorch},
	"pytorch.device.index":              {field: FieldDeviceIndex, family: familyTorch},
	"pytorch.cpu_memory_usage_bytes":    {field: FieldMemory, family: familyTorch},
	"pytorch.device_memory_usage_bytes": {field: FieldDeviceMemory, family: familyTorch},
	"pytorch.flops":                     {field: FieldFLOPs, family: familyTorch},

	"op":           {field: FieldName, family: familyBare},
	"operation":    {field: FieldName, family: familyBare},
	"device_id":    {field: FieldDevice, family: familyBare},
	"device":       {field: FieldDevice, family: familyBare},
	"input_shapes": {field: FieldInputShapes, family: familyBare},
	"output_shape": {field: FieldOutputShape, family: familyBare},
	"memory_bytes": {field: FieldMemory, family: familyBare},
	"step":         {field: FieldStep, family: familyBare},
}

// torchPrefix starts the keys of torch.profiler: any of them makes a span an
// operation, also those that map to no field.
const torchPrefix = "pytorch."

// Mapping is a table from attribute keys to fields: the conventions of this
// project with the aliases that readers accept, and what a user adds. A nil
// *Mapping is the conventions alone. Complete a Mapping before it is used; it
// is then safe for concurrent use.
type Mapping struct {
	added map[string]target
}

// Alias makes key mean field in addition to what the conventions say. It
// yields to the keys of the tensor family and takes precedence over bare ones.
func (m *Mapping) Alias(key string, field Field) {
	t := m.lookup(key)
	t.field, t.family = field, familyAlias
	m.set(key, t)
}

// Keep makes key's values appear in [Entry].Attrs.
func (m *Mapping) Keep(key string) {
	t := m.lookup(key)
	t.keep = true
	m.set(key, t)
}

func (m *Mapping) set(key string, t target) {
	if m.added == nil {
		m.added = make(map[string]target)
	}
	m.added[key] = t
}

// lookup returns what key maps to.
func (m *Mapping) lookup(key string) target {
	if m != nil && len(m.added) > 0 {
		if t, ok := m.added[key]; ok {
			return t
		}
	}
	if t, ok := conventions[key]; ok {
		return t
	}
	if strings.HasPrefix(key, inputShapePrefix) && strings.HasSuffix(key, inputShapeSuffix) {
		digits := strings.TrimSuffix(key[len(inputShapePrefix):], inputShapeSuffix)
		if i, err := strconv.ParseUint(digits, 10, 15); err == nil {
			return target{field: fieldInputShapeAt, family: familyIndexed, index: int16(i)}
		}
	}
	if strings.HasPrefix(key, torchPrefix) {
		return target{family: familyTorch}
	}
	return target{}
}

// predicate decides whether a span with the keys that see was called for is
// an operation: it carries tensor.op.name, or a key of the torch family, or a
// bare name together with a shape.
type predicate struct {
	name, bareName, torch, shape bool
}

func (p *predicate) see(t target) {
	switch {
	case t.family == familyTorch:
		p.torch = true
	case t.field == FieldName && t.family == familyBare:
		p.bareName = true
	case t.field == FieldName:
		p.name = true
	}
	switch t.field {
	case FieldInputShapes, FieldOutputShape, fieldInputShapeAt:
		p.shape = true
	}
}

func (p *predicate) isOperation() bool { return p.name || p.torch || p.bareName && p.shape }
