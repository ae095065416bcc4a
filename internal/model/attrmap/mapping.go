package attrmap

import (
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/op"
)

// Field is a property of an operation that an attribute gives.
type Field uint8

// The fields.
const (
	FieldNone Field = iota

	// Those that are set from text as it is.
	FieldName
	FieldKind
	FieldPath
	FieldSide
	FieldDType
	FieldDevice
	FieldDeviceType
	FieldPhase
	FieldCollective
	FieldGroup

	// Numbers.
	FieldFLOPs
	FieldOutputElements
	FieldDeviceIndex
	FieldStream
	FieldStep
	FieldMemory
	FieldDeviceMemory
	FieldGroupSize
	FieldSequence
	FieldPeerRank
	FieldInElements
	FieldOutElements
	FieldRank
	FieldLaunch
	fieldWorldSize // belongs on the resource

	FieldInputDTypes
	FieldInputShapes
	FieldOutputShape
	fieldInputShapeAt // one input of several, by index

	// Fields of an entry that the convention has no attribute for.
	fieldKindRule
	FieldRoot // the name of the local root
	fieldRootSpan
	fieldLaunchedBy
	fieldLaunchSpan
	fieldStepName
	fieldWarnings

	numFields
)

// isText reports whether the field is set from text as it is.
func (f Field) isText() bool { return FieldName <= f && f <= FieldGroup }

func (f Field) isNumber() bool { return FieldFLOPs <= f && f <= fieldWorldSize }

func (f Field) isShape() bool { return FieldInputShapes <= f && f <= fieldInputShapeAt }

// family ranks keys: where several set one field, the one of the higher family wins.
type family uint8

const (
	familyNone family = iota
	// familyBare: short names that other instrumentation uses too.
	familyBare
	// familyAlias: keys that a user added.
	familyAlias
	// familyTorch: torch.profiler's OpenTelemetry keys.
	familyTorch
	// familyIndexed: tensor.input.N.shape.
	familyIndexed
	// familyTensor: the convention.
	familyTensor
)

// target is the field that a key maps to.
type target struct {
	field  Field
	family family
	keep   bool  // also wanted in Entry.Attrs
	says   signs // that the span with the key is an operation
	index  int16 // of the input, for fieldInputShapeAt
}

// torchPrefix starts the keys of torch.profiler, each of which makes a span an operation.
const torchPrefix = "pytorch."

// Mapping is a table from attribute keys to fields: the conventions of this
// project, the aliases that readers accept, and the keys that a user adds. A nil
// *Mapping is the conventions alone. Complete a Mapping before it is used; it
// is then safe for concurrent use.
type Mapping struct {
	added map[string]*target
	kept  []string // see Keep
	all   bool     // see KeepAll
	// spans are the targets where spans that are no operations keep further attributes, see [Want].Spans;
	// nil where they keep none.
	spans *targets
	hold  func(bytes int64) error // see Holding
}

// Alias makes key mean what like does, a key of the conventions such as tensor.op.path. It yields
// to the keys of the tensor family and takes precedence over bare ones. Where like means no property
// of an operation, neither does key.
func (m *Mapping) Alias(key, like string) {
	t := *m.find(key)
	field := (*Mapping)(nil).find(like).field
	if t.field == FieldNone { // one that is kept for what it says of a kernel says something else then
		t.keep = m.all || slices.Contains(m.kept, key)
	}
	t.field = field
	t.family = familyAlias
	// A key of torch.profiler still makes the span an operation.
	t.says = t.says&signTorch | signsOf(field, familyAlias)
	m.set(key, t)
}

// Keep makes key's values appear in [op.Entry].Attrs and [op.Span].Attrs, a list or map as JSON. An entry
// or span without the attribute has that of its scope, or else that of its resource.
func (m *Mapping) Keep(key string) {
	t := *m.find(key)
	t.keep = true
	m.set(key, t)
	if !slices.Contains(m.kept, key) {
		m.kept = append(m.kept, key)
	}
}

func (m *Mapping) set(key string, t target) {
	if m.added == nil {
		m.added = make(map[string]*target)
	}
	m.added[key] = &t
}

// targets are the targets of the conventions, shared and never changed.
type targets struct {
	table *keyIndex
	// The targets of keys that are not in the table.
	none, torch *target
	indexed     [op.MaxInputs + 1]target
}

// newTargets returns the targets of the conventions, which keep all values or those of some keys in addition.
func newTargets(keep bool, kept []string) *targets {
	t := &targets{
		table: newKeyIndex(conventions, keep, kept),
		none:  &target{keep: keep},
		torch: &target{family: familyTorch, says: signTorch, keep: keep},
	}
	for i := range t.indexed {
		t.indexed[i] = target{field: fieldInputShapeAt, family: familyIndexed, index: int16(i), says: signShape,
			keep: keep}
	}
	return t
}

var conventional, keeping = newTargets(false, nil), newTargets(true, nil)

func (m *Mapping) find(key string) *target {
	from := conventional
	if m != nil {
		if len(m.added) > 0 {
			if t, ok := m.added[key]; ok {
				return t
			}
		}
		switch {
		case m.all:
			from = keeping
		case m.spans != nil:
			from = m.spans
		}
	}
	if t := from.table.find(key); t != nil {
		return t
	}
	if strings.HasPrefix(key, inputShapePrefix) && strings.HasSuffix(key, inputShapeSuffix) {
		digits := strings.TrimSuffix(key[len(inputShapePrefix):], inputShapeSuffix)
		if i, err := strconv.ParseUint(digits, 10, 15); err == nil {
			return &from.indexed[min(i, op.MaxInputs)] // the last stands for all beyond the limit
		}
	}
	if strings.HasPrefix(key, torchPrefix) {
		return from.torch
	}
	return from.none
}

// Predicate decides as a [Builder] does whether a span is an operation, where no entry is needed.
type Predicate struct {
	mapping *Mapping
	seen    signs
}

// NewPredicate returns a Predicate for one span.
func NewPredicate(m *Mapping) Predicate { return Predicate{mapping: m} }

// See takes the next key, and reports whether those so far make the span an operation.
func (p *Predicate) See(key string) bool {
	p.seen |= p.mapping.find(key).says
	return p.seen.isOperation()
}

// signs is a set of reasons to take a span for an operation.
type signs uint8

const (
	signName     signs = 1 << iota // tensor.op.name, or an alias of it
	signTorch                      // a key of torch.profiler
	signBareName                   // op or operation, which may mean anything
	signShape                      // a shape
)

func signsOf(field Field, family family) signs {
	var s signs
	switch {
	case family == familyTorch:
		s |= signTorch
	case field == FieldName && family == familyBare:
		s |= signBareName
	case field == FieldName:
		s |= signName
	}
	if field.isShape() {
		s |= signShape
	}
	return s
}

func (s signs) isOperation() bool {
	return s&(signName|signTorch) != 0 || s&signBareName != 0 && s&signShape != 0
}
