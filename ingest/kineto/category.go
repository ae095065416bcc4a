package kineto

import (
	"strings"

	"github.com/optrace/optrace/op"
)

// category is the meaning of an event.
type category uint8

const (
	catOther category = iota // not one of Kineto's
	catHostOp
	catKernel
	catMemory // a copy or a set on the device
	catRuntime
	catAnnotation
	catPython
	catSync
)

// categoryOf classifies a complete event. The first versions of the profiler capitalised the categories.
func categoryOf(cat []byte) category {
	switch string(cat) {
	case "cpu_op", "Operator":
		return catHostOp
	case "kernel", "Kernel":
		return catKernel
	case "gpu_memcpy", "gpu_memset", "Memcpy", "Memset":
		return catMemory
	case "cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "Runtime":
		return catRuntime
	case "user_annotation", "gpu_user_annotation", "Trace":
		return catAnnotation
	case "python_function":
		return catPython
	case "cuda_sync", "hip_sync", "overhead":
		return catSync
	}
	return otherCategory(string(cat))
}

// otherCategory classifies a complete event of an unlisted category, by PyTorch's naming of further devices:
// xpu_driver, mtia_ccp_events, hpu_op.
func otherCategory(name string) category {
	switch {
	case strings.HasSuffix(name, "_runtime"), strings.HasSuffix(name, "_driver"):
		return catRuntime
	case strings.HasSuffix(name, "_memcpy"), strings.HasSuffix(name, "_memset"):
		return catMemory
	case strings.HasSuffix(name, "_ccp_events"), strings.HasSuffix(name, "kernel"), strings.HasPrefix(name, "gpu_"):
		return catKernel
	}
	for _, device := range []string{"mtia_workload", "hpu_", "npu_", "privateuse1_"} {
		if strings.HasPrefix(name, device) {
			return catKernel
		}
	}
	return catOther
}

// makerOf returns the maker of a device by the category of its events, such as mtia. It is "" for CUDA and AMD.
func makerOf(cat []byte) string {
	switch string(cat) {
	case "kernel", "Kernel", "gpu_memcpy", "gpu_memset", "Memcpy", "Memset", "concurrent_kernel":
		return ""
	}
	name, _, _ := strings.Cut(string(cat), "_")
	if name == "gpu" {
		return ""
	}
	return name
}

// maxCategories bounds the number of distinct categories.
const maxCategories = 64

// skipReason returns why a phase is neither an operation nor one end of a span, "" for one that is.
func skipReason(phase byte) op.SkipReason {
	switch phase {
	case 'X', 'B', 'E':
		return ""
	case 's', 't', 'f':
		return op.SkipFlow
	case 'b', 'n', 'e', 'S', 'T', 'p', 'F':
		// Asynchronous events have no thread and no duration.
		return op.SkipUnknownRecord
	case 'M', 'I', 'i', 'R', 'C', 'P', 'c', 'N', 'O', 'D', 'V', 'v', '(', ')':
		return op.SkipMetadata
	}
	return op.SkipUnknownRecord
}
