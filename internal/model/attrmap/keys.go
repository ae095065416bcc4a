package attrmap

import (
	"slices"

	"github.com/optrace/optrace/internal/model/attrkey"
)

// The keys that writers use are in internal/model/attrkey, generated from docs/registry.

// The shape of one input per attribute: tensor.input.0.shape.
const (
	inputShapePrefix = "tensor.input."
	inputShapeSuffix = ".shape"
)

// conventions is the mapping from attribute keys to fields, except for tensor.input.N.shape.
var conventions = []keyTarget{
	{attrkey.Name, target{field: FieldName, family: familyTensor}},
	{attrkey.Kind, target{field: FieldKind, family: familyTensor}},
	{attrkey.Path, target{field: FieldPath, family: familyTensor}},
	{attrkey.FLOPs, target{field: FieldFLOPs, family: familyTensor}},
	{attrkey.Side, target{field: FieldSide, family: familyTensor}},
	{attrkey.InputShapes, target{field: FieldInputShapes, family: familyTensor}},
	{attrkey.InputDTypes, target{field: FieldInputDTypes, family: familyTensor}},
	{attrkey.OutputShape, target{field: FieldOutputShape, family: familyTensor}},
	{attrkey.OutputElements, target{field: FieldOutputElements, family: familyTensor}},
	{attrkey.DType, target{field: FieldDType, family: familyTensor}},
	{attrkey.Device, target{field: FieldDevice, family: familyTensor}},
	{attrkey.Stream, target{field: FieldStream, family: familyTensor}},
	{attrkey.Step, target{field: FieldStep, family: familyTensor}},
	{attrkey.Phase, target{field: FieldPhase, family: familyTensor}},
	{attrkey.Memory, target{field: FieldMemory, family: familyTensor}},
	{attrkey.Collective, target{field: FieldCollective, family: familyTensor}},
	{attrkey.Group, target{field: FieldGroup, family: familyTensor}},
	{attrkey.GroupSize, target{field: FieldGroupSize, family: familyTensor}},
	{attrkey.Sequence, target{field: FieldSequence, family: familyTensor}},
	{attrkey.PeerRank, target{field: FieldPeerRank, family: familyTensor}},
	{attrkey.InElements, target{field: FieldInElements, family: familyTensor}},
	{attrkey.OutElements, target{field: FieldOutElements, family: familyTensor}},
	{attrkey.Rank, target{field: FieldRank, family: familyTensor}},
	{attrkey.WorldSize, target{field: fieldWorldSize, family: familyTensor}},
	{attrkey.Launch, target{field: FieldLaunch, family: familyTensor}},
	{attrkey.LaunchDuration, target{family: familyTensor, keep: true}},
	{attrkey.LaunchCall, target{family: familyTensor, keep: true}},
	{attrkey.AutogradSequence, target{family: familyTensor, keep: true}},
	{attrkey.ForwardThread, target{family: familyTensor, keep: true}},
	{attrkey.ForwardName, target{family: familyTensor, keep: true}},
	{attrkey.Graph, target{keep: true}},
	{attrkey.GraphNodeName, target{keep: true}},
	{attrkey.ClockError, target{family: familyTensor, keep: true}},
	{attrkey.HardwareID, target{field: FieldDevice, family: familyBare, keep: true}},
	{"optrace.launch_unix_ns", target{field: FieldLaunch, family: familyIndexed}}, // an earlier name
	{attrkey.KindRule, target{field: fieldKindRule, family: familyTensor}},
	{attrkey.Root, target{field: FieldRoot, family: familyTensor}},
	{attrkey.RootSpan, target{field: fieldRootSpan, family: familyTensor}},
	{attrkey.LaunchedBy, target{field: fieldLaunchedBy, family: familyTensor}},
	{attrkey.LaunchSpan, target{field: fieldLaunchSpan, family: familyTensor}},
	{attrkey.StepName, target{field: fieldStepName, family: familyTensor}},
	{attrkey.Warnings, target{field: fieldWarnings, family: familyTensor}},

	{"pytorch.input_shapes", target{field: FieldInputShapes, family: familyTorch}},
	{"pytorch.input_dtypes", target{field: FieldInputDTypes, family: familyTorch}},
	{"pytorch.device.type", target{field: FieldDeviceType, family: familyTorch}},
	{"pytorch.device.index", target{field: FieldDeviceIndex, family: familyTorch}},
	{"pytorch.cpu_memory_usage_bytes", target{field: FieldMemory, family: familyTorch}},
	{"pytorch.device_memory_usage_bytes", target{field: FieldDeviceMemory, family: familyTorch}},
	{"pytorch.flops", target{field: FieldFLOPs, family: familyTorch}},

	{"op", target{field: FieldName, family: familyBare}},
	{"operation", target{field: FieldName, family: familyBare}},
	{"device_id", target{field: FieldDevice, family: familyBare}},
	{"device", target{field: FieldDevice, family: familyBare}},
	{"input_shapes", target{field: FieldInputShapes, family: familyBare}},
	{"output_shape", target{field: FieldOutputShape, family: familyBare}},
	{"memory_bytes", target{field: FieldMemory, family: familyBare}},
	{"step", target{field: FieldStep, family: familyBare}},
}

type keyTarget struct {
	key    string
	target target
}

// keyIndex is an immutable hash table of keys: every attribute of every span is looked up.
type keyIndex struct{ slots [256]keyTarget }

// newKeyIndex returns the index of a table and the kept keys. There are far more slots than keys.
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
