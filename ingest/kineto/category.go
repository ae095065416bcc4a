package kineto

import (
	"strings"

	"github.com/optrace/optrace/op"
)

// category is the meaning of an event of Kineto.
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

// categoryOf classifies a complete event. The capitalised spellings are those
// of the profiler's first versions.
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
	return catOther
}

// deviceEvent returns the reason by which an event of a device that is not known is counted; "" for
// other events.
func deviceEvent(cat []byte) op.SkipReason {
	name := string(cat)
	for _, device := range []string{"mtia", "hpu", "npu", "privateuse1"} {
		if strings.HasPrefix(name, device) && !strings.HasSuffix(name, "_runtime") {
			return op.SkipDeviceEvent + op.SkipReason(name)
		}
	}
	return ""
}

// skipReason says why an event is neither an operation nor one end of a span,
// by its phase; "" for those that are.
func skipReason(phase byte) op.SkipReason {
	switch phase {
	case 'X', 'B', 'E':
		return ""
	case 's', 't', 'f':
		return op.SkipFlow
	case 'b', 'n', 'e', 'S', 'T', 'p', 'F':
		// Asynchronous events lie on no thread and have no duration.
		return op.SkipUnknownRecord
	case 'M', 'I', 'i', 'R', 'C', 'P', 'c', 'N', 'O', 'D', 'V', 'v', '(', ')':
		return op.SkipMetadata
	}
	return op.SkipUnknownRecord
}
