package op

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/text/scalar"
)

// Int is an integer, perhaps unknown. The zero value is unknown.
type Int struct {
	V     int64 // the value, 0 if unknown
	Known bool  // set if V was given
}

// Known returns an Int of value v.
func Known(v int64) Int { return Int{V: v, Known: true} }

// Or returns the value, or def if it is unknown.
func (i Int) Or(def int64) int64 {
	if i.Known {
		return i.V
	}
	return def
}

// String returns the value in decimal, or "unknown".
func (i Int) String() string {
	if !i.Known {
		return "unknown"
	}
	return strconv.FormatInt(i.V, 10)
}

// MarshalJSON returns the value, null if unknown.
func (i Int) MarshalJSON() ([]byte, error) { return i.append(nil), nil }

func (i Int) append(dst []byte) []byte {
	if !i.Known {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, i.V, 10)
}

// UnmarshalJSON reads a number or null.
func (i *Int) UnmarshalJSON(text []byte) (err error) {
	i.V, i.Known, err = unmarshalNumber[int64](text)
	return err
}

func unmarshalNumber[N int64 | float64](text []byte) (n N, known bool, err error) {
	var v *N
	if err = json.Unmarshal(text, &v); v != nil {
		n = *v
	}
	return n, v != nil, err
}

// Float is a number, perhaps unknown. The zero value is unknown.
type Float struct {
	V float64 // the value, 0 if unknown
	// Known reports whether V was given.
	Known bool
}

// KnownFloat returns a Float of value v.
func KnownFloat(v float64) Float { return Float{V: v, Known: true} }

// String returns the value in decimal, or "unknown".
func (f Float) String() string {
	if !f.Known {
		return "unknown"
	}
	return strconv.FormatFloat(f.V, 'g', -1, 64)
}

// MarshalJSON returns the value, null if unknown.
func (f Float) MarshalJSON() ([]byte, error) {
	if !f.Known {
		return []byte("null"), nil
	}
	return json.Marshal(f.V)
}

// UnmarshalJSON reads a number or null.
func (f *Float) UnmarshalJSON(text []byte) (err error) {
	f.V, f.Known, err = unmarshalNumber[float64](text)
	return err
}

// TraceID identifies a trace. The zero value is unknown.
type TraceID [16]byte

// SpanID identifies a span within its trace. The zero value is unknown; a parent of zero is absent.
type SpanID [8]byte

// IsZero reports whether the id is not known.
func (id TraceID) IsZero() bool { return id == TraceID{} }

// IsZero reports whether the id is not known.
func (id SpanID) IsZero() bool { return id == SpanID{} }

// String returns 32 lower-case hexadecimal digits.
func (id TraceID) String() string { return hex.EncodeToString(id[:]) }

// String returns 16 lower-case hexadecimal digits.
func (id SpanID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText returns the hexadecimal form.
func (id TraceID) MarshalText() ([]byte, error) { return scalar.AppendHex(nil, id[:]), nil }

// MarshalText returns the hexadecimal form.
func (id SpanID) MarshalText() ([]byte, error) { return scalar.AppendHex(nil, id[:]), nil }

// ParseTraceID reads 32 hexadecimal digits in either case, or 16: Jaeger leaves out a high half of zeros.
func ParseTraceID(s []byte) (id TraceID, ok bool) {
	ok = scalar.ParseID(id[:], s)
	return id, ok
}

// ParseSpanID reads 16 hexadecimal digits in either case.
func ParseSpanID(s []byte) (id SpanID, ok bool) {
	ok = scalar.ParseID(id[:], s)
	return id, ok
}

// UnmarshalText reads the hexadecimal form.
func (id *TraceID) UnmarshalText(text []byte) error {
	return unmarshalID(id, ParseTraceID, text, "trace")
}

// UnmarshalText reads the hexadecimal form.
func (id *SpanID) UnmarshalText(text []byte) error { return unmarshalID(id, ParseSpanID, text, "span") }

func unmarshalID[ID any](id *ID, parse func([]byte) (ID, bool), text []byte, of string) error {
	parsed, ok := parse(text)
	if !ok {
		return fmt.Errorf("%q is not a %s id", text, of)
	}
	*id = parsed
	return nil
}

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

// collectives are the words of collectives on tensors of several ranks, as PyTorch, JAX and MPI spell them.
var collectives = [...]string{
	"_all_reduce_", "_allreduce_", "_all_gather_", "_allgather_", "_allgatherv_", "_reduce_scatter_", "_reducescatter_",
	"_all_to_all_", "_alltoall_", "_alltoallv_", "_all2all_",
}

// transfers are the words of other communication. Names of computing kernels contain them, too.
var transfers = [...]string{"_send_", "_recv_", "_isend_", "_irecv_", "_sendrecv_", "_comm_", "_comms_"}

// broadcast is communication as the last word, or in front of one of broadcastForms; broadcast_in_dim and
// broadcast_tensors change a shape.
const broadcast = "_broadcast_"

var broadcastForms = [...]string{"coalesced_", "oop_", "object_list_", "async_", "kernel_"}

var memoryPrefixes = [...]string{"memcpy", "memset"}

// deviceKernels are the words of library kernels without the prefix of a collective library.
var deviceKernels = [...]struct {
	words, and string
	kind       Kind
}{
	{"_cross_device_reduce_", "", KindCollective}, // vLLM, csrc/custom_all_reduce.cuh
	{"_deep_ep_", "_dispatch_", KindCollective},   // DeepEP, csrc/kernels
	{"_deep_ep_", "_combine_", KindCollective},    // DeepEP, csrc/kernels
	{"_nvshmem_", "", KindCollective},             // NVSHMEM's kernels
	{"_amd_rocclr_copy_", "", KindMemory},         // ROCclr, device/rocm/blitcl.cpp
	{"_amd_rocclr_fill_", "", KindMemory},         // ROCclr, device/rocm/blitcl.cpp
	{"_event_wait_", "", KindControl},             // MTIA
}

// InferKind classifies an operation by its name, ignoring ASCII case: the
// prefix of a communication library, then words that stand for communication,
// then the prefix of a copy or set; any other name computes. Words end at
// characters that are neither letters nor digits, and at a change of case.
//
//	ncclDevKernel_AllReduce   collective (library)
//	all_gather_into_tensor    collective (name)
//	c10d::AllReduce_          collective (name)
//	Memcpy HtoD               memory     (name)
//	recommendation            compute    (default)
func InferKind(name string) (Kind, KindRule) {
	var room [128]byte
	words := appendWords(room[:0], name)
	switch {
	case hasAnyPrefix(name, collectiveLibraries[:]):
		return KindCollective, RuleLibrary
	case containsAny(words, collectives[:]), containsAny(words, transfers[:]), isBroadcast(words):
		return KindCollective, RuleName
	case hasAnyPrefix(name, memoryPrefixes[:]):
		return KindMemory, RuleName
	}
	return KindCompute, RuleDefault
}

// InferDeviceKind classifies an operation that ran on a device, such as a GPU
// kernel, by the prefix of its name and by the words of the function's name.
// Arguments of templates and functions do not count, and of communication only
// the collectives do: kernel names are long and hold words like "recv" by accident.
func InferDeviceKind(name string) (Kind, KindRule) {
	name = strings.TrimPrefix(name, "void ")
	if i := strings.IndexAny(name, "<("); i > 0 {
		name = name[:i]
	}
	switch {
	case hasAnyPrefix(name, collectiveLibraries[:]):
		return KindCollective, RuleLibrary
	case hasAnyPrefix(name, memoryPrefixes[:]):
		return KindMemory, RuleName
	}
	var room [128]byte
	words := appendWords(room[:0], name)
	for i := range deviceKernels {
		k := &deviceKernels[i]
		if bytes.Contains(words, []byte(k.words)) && (k.and == "" || bytes.Contains(words, []byte(k.and))) {
			return k.kind, RuleName
		}
	}
	// Triton's kernels are named after the operations that are fused in them.
	if containsAny(words, collectives[:]) && !hasAnyPrefix(name, []string{"triton_"}) {
		return KindCollective, RuleName
	}
	return KindCompute, RuleDefault
}

// IsCommunicationName reports whether the name holds allreduce, all_gather,
// reduce_scatter, broadcast, send, recv or comm, ignoring ASCII case, as a word
// or a part of one. The format of the first recorder (op/seed) counts so.
func IsCommunicationName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"allreduce", "all_gather", "reduce_scatter", "broadcast", "send", "recv", "comm"},
		func(part string) bool { return strings.Contains(name, part) })
}

// appendWords appends the words of a name in lower case, with "_" around each.
func appendWords(dst []byte, name string) []byte {
	dst = append(dst, '_')
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case isUpper(c):
			if i > 0 && (isLowerOrDigit(name[i-1]) || isUpper(name[i-1]) && i+1 < len(name) && isLower(name[i+1])) {
				dst = append(dst, '_')
			}
			dst = append(dst, c+'a'-'A')
		case isLowerOrDigit(c):
			dst = append(dst, c)
		case dst[len(dst)-1] != '_':
			dst = append(dst, '_')
		}
	}
	if dst[len(dst)-1] != '_' {
		dst = append(dst, '_')
	}
	return dst
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

func isLowerOrDigit(c byte) bool { return isLower(c) || '0' <= c && c <= '9' }

func isBroadcast(words []byte) bool {
	i := bytes.LastIndex(words, []byte(broadcast))
	if i < 0 {
		return false
	}
	rest := string(words[i+len(broadcast):])
	return rest == "" || slices.Contains(broadcastForms[:], rest)
}

func containsAny(words []byte, list []string) bool {
	return slices.ContainsFunc(list, func(word string) bool { return bytes.Contains(words, []byte(word)) })
}

func hasAnyPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return len(s) >= len(p) && strings.EqualFold(s[:len(p)], p) })
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
	WarnMicroseconds      // the source keeps microseconds only (Jaeger's v1 JSON, Python's console)
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
