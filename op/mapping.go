package op

import (
	"strconv"
	"strings"
)

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
	FieldLaunch
	FieldKindRule
	FieldRoot
	FieldRootSpan
	FieldWarnings

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
	says   signs // of the span that carries the key
	index  int16 // of the input, for fieldInputShapeAt
}

// torchPrefix starts the keys of torch.profiler: any of them makes a span an
// operation, also those that map to no field.
const torchPrefix = "pytorch."

// Mapping is a table from attribute keys to fields: the conventions of this
// project with the aliases that readers accept, and what a user adds. A nil
// *Mapping is the conventions alone. Complete a Mapping before it is used; it
// is then safe for concurrent use.
type Mapping struct {
	added map[string]*target
}

// Alias makes key mean field in addition to what the conventions say. It
// yields to the keys of the tensor family and takes precedence over bare ones.
func (m *Mapping) Alias(key string, field Field) {
	t := *m.lookup(key)
	t.field, t.family = field, familyAlias
	// A key of torch's keeps telling that the span is an operation.
	t.says = t.says&signTorch | signsOf(field, familyAlias)
	m.set(key, t)
}

// Keep makes key's values appear in [Entry].Attrs: a list as JSON, a map not
// at all.
func (m *Mapping) Keep(key string) {
	t := *m.lookup(key)
	t.keep = true
	m.set(key, t)
}

func (m *Mapping) set(key string, t target) {
	if m.added == nil {
		m.added = make(map[string]*target)
	}
	m.added[key] = &t
}

// What keys that are not in the table map to. Targets are shared and never
// changed: every attribute of every span is looked up.
var (
	noTarget      = &target{}
	torchTarget   = &target{family: familyTorch, says: signTorch}
	indexedTarget = func() (all [MaxInputs + 1]target) {
		for i := range all {
			all[i] = target{field: fieldInputShapeAt, family: familyIndexed, index: int16(i), says: signShape}
		}
		return all
	}()
)

// lookup returns what key maps to.
func (m *Mapping) lookup(key string) *target {
	if m != nil && len(m.added) > 0 {
		if t, ok := m.added[key]; ok {
			return t
		}
	}
	if t := conventions.find(key); t != nil {
		return t
	}
	if strings.HasPrefix(key, inputShapePrefix) && strings.HasSuffix(key, inputShapeSuffix) {
		digits := strings.TrimSuffix(key[len(inputShapePrefix):], inputShapeSuffix)
		if i, err := strconv.ParseUint(digits, 10, 15); err == nil {
			return &indexedTarget[min(i, MaxInputs)] // the last stands for all beyond the limit
		}
	}
	if strings.HasPrefix(key, torchPrefix) {
		return torchTarget
	}
	return noTarget
}
