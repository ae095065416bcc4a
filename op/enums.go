package op

import (
	"iter"
	"math/bits"
	"slices"
	"strings"
)

// Kind is the kind of work of an operation.
type Kind uint8

// The kinds of operations.
const (
	KindUnknown    Kind = iota // the kind of an unclassified entry
	KindCompute                // arithmetic on tensors
	KindCollective             // communication between devices or ranks
	KindMemory                 // copying, setting or allocating memory
	KindIO                     // reading or writing outside the devices
	KindControl                // scheduling and synchronisation
)

var kindNames = [...]string{"", "compute", "collective", "memory", "io", "control"}

// String returns the kind as attributes and files spell it, "" for KindUnknown.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return ""
	}
	return kindNames[k]
}

// ParseKind returns the kind called s.
func ParseKind(s string) (k Kind, ok bool) {
	i := slices.Index(kindNames[1:], s)
	return Kind(i + 1), i >= 0
}

// SetName sets the value to the one called word, and returns the warning about an unknown word.
func (k *Kind) SetName(word string) Warning {
	var ok bool
	*k, ok = ParseKind(word)
	return warnUnless(ok || word == "", WarnBadValue)
}

// KindRule tells how the kind of an entry was found.
type KindRule uint8

// The rules, in the order of precedence.
const (
	// RuleAttribute: tensor.op.kind or an attribute of the tensor.collective family states it. This is final.
	RuleAttribute KindRule = iota
	RuleLibrary            // the name has the prefix of a collective communication library
	RuleName               // the name contains a certain word or starts with it
	RuleDefault            // no other rule applied; the operation is taken to compute
)

var ruleNames = [...]string{"attribute", "library", "name", "default"}

// String returns the rule's name.
func (r KindRule) String() string {
	if int(r) >= len(ruleNames) {
		return ""
	}
	return ruleNames[r]
}

// SetName sets the rule to the one called word. It never warns.
func (r *KindRule) SetName(word string) Warning {
	*r, _ = ParseKindRule(word)
	return 0
}

// ParseKindRule returns the rule called s.
func ParseKindRule(s string) (KindRule, bool) {
	i := slices.Index(ruleNames[:], s)
	return KindRule(max(i, 0)), i >= 0
}

// collectiveLibraries are the name prefixes of the libraries' device kernels,
// such as ncclDevKernel_AllReduce_Sum_f32_RING_LL.
var collectiveLibraries = [...]string{"nccl", "rccl", "msccl", "hccl", "oneccl"}

// collectiveWords make an operation communication when its lower-cased name contains one of them.
var collectiveWords = [...]string{"allreduce", "all_gather", "reduce_scatter", "broadcast", "send", "recv", "comm"}

// collectiveSpellings are further spellings of collectives, of PyTorch, JAX and MPI.
var collectiveSpellings = [...]string{
	"all_reduce", "all-reduce", "allgather", "all-gather", "reducescatter", "reduce-scatter", "alltoall", "all_to_all",
	"all-to-all",
}

var memoryPrefixes = [...]string{"memcpy", "memset"}

// InferKind classifies an operation by its name, ignoring ASCII case: by the prefix of a communication library, then by a
// communication word, then by the prefix of a copy or set. Any other name computes.
//
//	ncclDevKernel_AllReduce   collective (library)
//	all_gather_into_tensor    collective (name)
//	all_reduce                collective (name)
//	Memcpy HtoD               memory     (name)
//	matmul                    compute    (default)
func InferKind(name string) (Kind, KindRule) {
	lower := strings.ToLower(name)
	switch {
	case hasAnyPrefix(lower, collectiveLibraries[:]):
		return KindCollective, RuleLibrary
	case IsCommunicationName(lower), containsAny(lower, collectiveSpellings[:]):
		return KindCollective, RuleName
	case hasAnyPrefix(lower, memoryPrefixes[:]):
		return KindMemory, RuleName
	}
	return KindCompute, RuleDefault
}

// InferDeviceKind classifies an operation on a device, such as a GPU kernel, by the prefix of its name alone: kernel
// names are long and contain words like "recv" by accident.
func InferDeviceKind(name string) (Kind, KindRule) {
	lower := strings.ToLower(name)
	switch {
	case hasAnyPrefix(lower, collectiveLibraries[:]):
		return KindCollective, RuleLibrary
	case hasAnyPrefix(lower, memoryPrefixes[:]):
		return KindMemory, RuleName
	}
	return KindCompute, RuleDefault
}

// IsCommunicationName reports whether the name holds one of the words allreduce,
// all_gather, reduce_scatter, broadcast, send, recv or comm, ignoring ASCII case.
func IsCommunicationName(name string) bool {
	return containsAny(strings.ToLower(name), collectiveWords[:])
}

func containsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
}

func hasAnyPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// Warning is a set of problems in the source of an entry. The entry is kept; reports count and show its warnings.
type Warning uint32

// The warnings.
const (
	// WarnBadShape: a shape of a wrong type, an unreadable text or a dimension below -1. The shape is unknown.
	WarnBadShape       Warning = 1 << iota
	WarnDynamicDim             // a dimension is -1; elements and bytes are unknown
	WarnOverflow               // the number of elements or bytes does not fit an int64 and is unknown
	WarnShapeTruncated         // more dimensions or inputs than MaxRank or MaxInputs
	// WarnBadValue: an attribute of the wrong type or out of range. The field is unknown.
	WarnBadValue
	WarnBadMemory        // a negative, fractional or too large memory size
	WarnUnknownDType     // an unrecognised element type
	WarnNegativeDuration // the end lies before the start; the duration is 0
	// WarnBadTime: a start or end of zero or outside int64 nanoseconds. The start is unknown.
	WarnBadTime
	WarnBadID             // a trace or span id of zero or not hexadecimal
	WarnNonFinite         // a NaN or infinite number was left out
	WarnInvalidUTF8       // in text, bytes outside UTF-8 became U+FFFD
	WarnDroppedAttributes // the SDK's limits dropped attributes of the span
	WarnNoStart           // the source has no start times (the seed's JSON)
	WarnMicroseconds      // the source keeps microseconds only (Jaeger's v1 JSON)
	WarnDroppedLinks      // links of the span were dropped, by the SDK's limits or beyond MaxLinks

	warnEnd
)

var warningNames = [...]string{
	"bad_shape", "dynamic_dim", "overflow", "shape_truncated", "bad_value", "bad_memory", "unknown_dtype",
	"neg_duration", "bad_time", "bad_id", "non_finite", "invalid_utf8", "dropped_attributes", "no_start",
	"us_truncated", "dropped_links",
}

// String returns the name of the lowest warning in the set, "" for an empty set.
func (w Warning) String() string {
	if i := bits.TrailingZeros32(uint32(w)); i < len(warningNames) {
		return warningNames[i]
	}
	return ""
}

// All yields each warning of the set by itself.
func (w Warning) All() iter.Seq[Warning] {
	return func(yield func(Warning) bool) {
		for rest := w; rest != 0; rest &= rest - 1 {
			if !yield(rest & -rest) {
				return
			}
		}
	}
}

// ParseWarning returns the warning called s.
func ParseWarning(s string) (w Warning, ok bool) {
	for i, name := range warningNames {
		if s == name {
			return 1 << i, true
		}
	}
	return 0, false
}

func warnUnless(ok bool, w Warning) Warning {
	if ok {
		return 0
	}
	return w
}
