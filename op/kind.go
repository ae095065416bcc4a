package op

import (
	"bytes"
	"slices"
	"strings"
)

// Kind is the kind of work that an operation does.
type Kind uint8

// The kinds of operations.
const (
	// KindUnknown is the kind of an entry that was not classified.
	KindUnknown Kind = iota
	// KindCompute is arithmetic on tensors.
	KindCompute
	// KindCollective is communication between devices or ranks.
	KindCollective
	// KindMemory is copying, setting or allocating memory.
	KindMemory
	// KindIO is reading or writing outside the devices.
	KindIO
	// KindControl is scheduling and synchronisation.
	KindControl
)

var kindNames = [...]string{"", "compute", "collective", "memory", "io", "control"}

// String returns the kind as attributes and files spell it, "" for KindUnknown.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return ""
	}
	return kindNames[k]
}

// ParseKind returns the kind that s names.
func ParseKind(s string) (k Kind, ok bool) {
	i := slices.Index(kindNames[1:], s)
	return Kind(i + 1), i >= 0
}

// SetName implements [Name].
func (k *Kind) SetName(word string) Warning {
	var ok bool
	*k, ok = ParseKind(word)
	return warnUnless(ok || word == "", WarnBadValue)
}

// KindRule is the rule by which the kind of an entry was found.
type KindRule uint8

// The rules, in the order in which they are tried.
const (
	// RuleAttribute: tensor.op.kind, or an attribute of the tensor.collective
	// family, says so. This is final.
	RuleAttribute KindRule = iota
	// RuleLibrary: the name starts with that of a collective communication
	// library.
	RuleLibrary
	// RuleName: the name contains or starts with a certain word.
	RuleName
	// RuleDefault: no other rule applied; the operation is taken to compute.
	RuleDefault
)

var ruleNames = [...]string{"attribute", "library", "name", "default"}

// String returns the rule's name.
func (r KindRule) String() string {
	if int(r) >= len(ruleNames) {
		return ""
	}
	return ruleNames[r]
}

// SetName implements [Name]. No warning tells of a rule that is not known.
func (r *KindRule) SetName(word string) Warning {
	*r, _ = ParseKindRule(word)
	return 0
}

// ParseKindRule returns the rule that s names.
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

// transfers are the words of other communication. On a device they stand in names of kernels that compute.
var transfers = [...]string{"_send_", "_recv_", "_isend_", "_irecv_", "_sendrecv_", "_comm_", "_comms_"}

// broadcast is communication as the last word, or in front of one of broadcastForms; broadcast_in_dim and
// broadcast_tensors change a shape.
const broadcast = "_broadcast_"

var broadcastForms = [...]string{"coalesced_", "oop_", "object_list_", "async_", "kernel_"}

var memoryPrefixes = [...]string{"memcpy", "memset"}

// deviceKernels are words of kernels that libraries name without the prefix of a collective library.
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
