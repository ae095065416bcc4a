package attrmap

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/op"
)

// Field is a property of an operation given by an attribute.
type Field uint8

// The fields.
const (
	FieldNone Field = iota

	// Texts.
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
	fieldInputShapeAt // one input, by index

	// Fields of an entry without an attribute in the conventions.
	fieldKindRule
	FieldRoot // the local root's name
	fieldRootSpan
	fieldLaunchedBy
	fieldLaunchSpan
	fieldStepName
	fieldWarnings
	fieldUnknown

	numFields
)

func (f Field) isText() bool { return FieldName <= f && f <= FieldGroup }

func (f Field) isNumber() bool { return FieldFLOPs <= f && f <= fieldWorldSize }

func (f Field) isShape() bool { return FieldInputShapes <= f && f <= fieldInputShapeAt }

// family ranks keys. Of several keys for one field the higher family wins.
type family uint8

const (
	familyNone    family = iota
	familyBare           // generic short names, also of other instrumentation
	familyAlias          // keys added by a user
	familyTorch          // torch.profiler's OpenTelemetry keys
	familyIndexed        // tensor.input.N.shape
	familyTensor         // the convention
)

type target struct {
	field  Field
	family family
	keep   bool  // also kept in Entry.Attrs
	says   signs // the evidence of an operation in the key
	index  int16 // index of the input, for fieldInputShapeAt
}

const torchPrefix = "pytorch."

// Mapping is a table from attribute keys to fields: the conventions, the aliases known to readers, and a user's keys.
// A nil *Mapping has the conventions only. A complete Mapping is safe for concurrent use.
type Mapping struct {
	added map[string]*target
	kept  []string                // see Keep
	all   bool                    // see KeepAll
	spans *targets                // the targets of spans other than operations, see [Want].Spans, nil without any
	hold  func(bytes int64) error // see Holding
}

// Alias gives key the meaning of like, a key of the conventions such as tensor.op.path. Keys of the tensor family take
// precedence over it, and it takes precedence over bare ones. If like has no meaning, key loses its own.
func (m *Mapping) Alias(key, like string) {
	t := *m.find(key)
	field := (*Mapping)(nil).find(like).field
	if t.field == FieldNone { // a key kept for its meaning loses it
		t.keep = m.all || slices.Contains(m.kept, key)
	}
	t.field = field
	t.family = familyAlias
	// A key of torch.profiler stays evidence of an operation.
	t.says = t.says&signTorch | signsOf(field, familyAlias)
	m.set(key, t)
}

// Keep copies key's values to [op.Entry].Attrs and [op.Span].Attrs, a list or map as JSON. An entry or span without
// the attribute has the value of its scope or else of its resource.
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

// targets are the targets of the conventions, shared and immutable.
type targets struct {
	table *keyIndex
	// The targets of keys outside the table.
	none, torch *target
	indexed     [op.MaxInputs + 1]target
}

// newTargets returns the targets of the conventions. They keep all values, or the values of the keys in kept.
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
			return &from.indexed[min(i, op.MaxInputs)] // the last one is for all beyond the limit
		}
	}
	if strings.HasPrefix(key, torchPrefix) {
		return from.torch
	}
	return from.none
}

// Predicate decides whether a span is an operation, like a [Builder] but without an entry.
type Predicate struct {
	mapping *Mapping
	seen    signs
}

// NewPredicate returns a Predicate for one span.
func NewPredicate(m *Mapping) Predicate { return Predicate{mapping: m} }

// See takes the next key, and reports whether the keys so far make the span an operation.
func (p *Predicate) See(key string) bool {
	p.seen |= p.mapping.find(key).says
	return p.seen.isOperation()
}

// signs is a set of evidence for an operation.
type signs uint8

const (
	signName     signs = 1 << iota // tensor.op.name or an alias
	signTorch                      // a key of torch.profiler
	signBareName                   // op or operation, ambiguous names
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

// Want lists the parts of an input's records that a consumer needs.
type Want struct {
	Keep []string // has the keys of attributes for entries, see [Mapping.Keep]
	// Spans has the keys, fewer than a hundred, of further attributes for spans other than operations.
	Spans []string
	// Partials asks for files of partial results, each as an [op.Partial].
	Partials bool
}

// Holding returns a copy of m, which may be nil, for readers that account for a record's memory by hold, like a
// [budget.Account]. They leave out values that hold refuses. The owner of hold then ends the reading.
func Holding(m *Mapping, hold func(bytes int64) error) *Mapping {
	c := With(m, Want{})
	c.hold = hold
	return c
}

// Account returns an account of the memory of readers with the mapping m, which may be nil.
func Account(m *Mapping) budget.Account {
	if m == nil {
		return budget.Account{}
	}
	return budget.Account{Hold: m.hold}
}

// With returns a copy of m, which may be nil, with the keys of w.
func With(m *Mapping, w Want) *Mapping {
	c := &Mapping{}
	if m != nil {
		*c = *m
	}
	c.added = maps.Clone(c.added)
	c.kept = slices.Clone(c.kept)
	for _, key := range w.Keep {
		c.Keep(key)
	}
	if len(w.Spans) > 0 {
		c.spans = newTargets(false, w.Spans)
	}
	return c
}

// The keys that writers use are in internal/model/attrkey, generated from docs/registry.

// The shape of one input per attribute: tensor.input.0.shape.
const (
	inputShapePrefix = "tensor.input."
	inputShapeSuffix = ".shape"
)

// conventions is the mapping from attribute keys to fields, except for tensor.input.N.shape.
var conventions = slices.Concat(
	mean(familyTensor, []keyField{
		{attrkey.Name, FieldName}, {attrkey.Kind, FieldKind}, {attrkey.Path, FieldPath}, {attrkey.FLOPs, FieldFLOPs},
		{attrkey.Side, FieldSide}, {attrkey.InputShapes, FieldInputShapes}, {attrkey.InputDTypes, FieldInputDTypes},
		{attrkey.OutputShape, FieldOutputShape}, {attrkey.OutputElements, FieldOutputElements},
		{attrkey.DType, FieldDType}, {attrkey.Device, FieldDevice}, {attrkey.Stream, FieldStream},
		{attrkey.Step, FieldStep}, {attrkey.Phase, FieldPhase}, {attrkey.Memory, FieldMemory},
		{attrkey.Collective, FieldCollective}, {attrkey.Group, FieldGroup}, {attrkey.GroupSize, FieldGroupSize},
		{attrkey.Sequence, FieldSequence}, {attrkey.PeerRank, FieldPeerRank}, {attrkey.InElements, FieldInElements},
		{attrkey.OutElements, FieldOutElements}, {attrkey.Rank, FieldRank}, {attrkey.WorldSize, fieldWorldSize},
		{attrkey.Launch, FieldLaunch}, {attrkey.KindRule, fieldKindRule}, {attrkey.Root, FieldRoot},
		{attrkey.RootSpan, fieldRootSpan}, {attrkey.LaunchedBy, fieldLaunchedBy}, {attrkey.LaunchSpan, fieldLaunchSpan},
		{attrkey.StepName, fieldStepName}, {attrkey.Warnings, fieldWarnings}, {attrkey.Unknown, fieldUnknown},
	}),
	keep(familyTensor, attrkey.LaunchDuration, attrkey.LaunchCall, attrkey.LaunchShare, attrkey.AutogradSequence,
		attrkey.ForwardThread, attrkey.ForwardName, attrkey.ClockError, attrkey.Power, attrkey.WaitStream,
		attrkey.WaitRecorded),
	keep(familyNone, attrkey.Graph, attrkey.GraphNodeName, attrkey.Thread),
	[]keyTarget{{attrkey.HardwareID, target{field: FieldDevice, family: familyBare, keep: true}}},
	mean(familyIndexed, []keyField{{"optrace.launch_unix_ns", FieldLaunch}}), // an earlier name
	mean(familyTorch, []keyField{
		{"pytorch.input_shapes", FieldInputShapes}, {"pytorch.input_dtypes", FieldInputDTypes},
		{"pytorch.device.type", FieldDeviceType}, {"pytorch.device.index", FieldDeviceIndex},
		{"pytorch.cpu_memory_usage_bytes", FieldMemory}, {"pytorch.device_memory_usage_bytes", FieldDeviceMemory},
		{"pytorch.flops", FieldFLOPs},
	}),
	mean(familyBare, []keyField{
		{"op", FieldName}, {"operation", FieldName}, {"device_id", FieldDevice}, {"device", FieldDevice},
		{"input_shapes", FieldInputShapes}, {"output_shape", FieldOutputShape}, {"memory_bytes", FieldMemory},
		{attrkey.StepNumbers[0], FieldStep}, {attrkey.StepNumbers[1], FieldStep}, {attrkey.StepNumbers[2], FieldStep},
		{attrkey.StepNumbers[3], FieldStep},
	}),
)

type keyField struct {
	key   string
	field Field
}

// mean returns the targets of keys with a field.
func mean(family family, keys []keyField) (all []keyTarget) {
	for _, k := range keys {
		all = append(all, keyTarget{k.key, target{field: k.field, family: family}})
	}
	return all
}

// keep returns the targets of keys that are kept for their values.
func keep(family family, keys ...string) (all []keyTarget) {
	for _, key := range keys {
		all = append(all, keyTarget{key, target{family: family, keep: true}})
	}
	return all
}

type keyTarget struct {
	key    string
	target target
}

// keyIndex is an immutable hash table of keys: every attribute of every span is looked up.
type keyIndex struct{ slots [256]keyTarget }

func newKeyIndex(table []keyTarget, keep bool, kept []string) *keyIndex {
	x := &keyIndex{}
	for _, key := range kept {
		if !slices.ContainsFunc(table, func(kt keyTarget) bool { return kt.key == key }) {
			table = append(slices.Clip(table), keyTarget{key, target{}})
		}
	}
	for _, kt := range table {
		i := keyHash(kt.key)
		for x.slots[i].key != "" {
			i++
		}
		kt.target.says = signsOf(kt.target.field, kt.target.family)
		kt.target.keep = keep || kt.target.keep || slices.Contains(kept, kt.key)
		x.slots[i] = kt
	}
	return x
}

// keyHash mixes the length of a key and bytes behind its namespace, where the keys of the conventions differ.
func keyHash(key string) uint8 {
	n := len(key)
	return uint8(n)*255 + key[n-1]*134 + key[n/2]*37 + key[n*3/4]
}

func (x *keyIndex) find(key string) *target {
	if key == "" {
		return nil
	}
	for i := keyHash(key); x.slots[i].key != ""; i++ {
		if x.slots[i].key == key {
			return &x.slots[i].target
		}
	}
	return nil
}
