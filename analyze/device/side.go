package device

import "strings"

// IsHost reports whether a device id names the processor of the host, or is empty. Operations on such a device without
// a stated side are the host's if it launches work of accelerators. Otherwise it is a device, such as for the layers
// that an engine leaves to the processor.
func IsHost(id string) bool {
	if id == "" {
		return true
	}
	const name = "cpu"
	if len(id) < len(name) || !strings.EqualFold(id[:len(name)], name) {
		return false
	}
	return len(id) == len(name) || !isLetter(id[len(name)])
}

// accelerators are the beginnings of the names of accelerators, in lower case.
var accelerators = []string{
	"cuda", "gpu", "hip", "rocm", "xpu", "tpu", "npu", "mps", "metal", "mtia", "hpu", "xla", "ipu", "musa", "mlu",
	"neuron", "vulkan", "opencl", "sycl", "dml", "directml", "nvidia", "privateuseone",
}

// IsAccelerator reports whether a device id names an accelerator, such as "cuda:0".
func IsAccelerator(id string) bool {
	id = strings.ToLower(id)
	for _, name := range accelerators {
		if rest, ok := strings.CutPrefix(id, name); ok && (rest == "" || !isLetter(rest[0])) {
			return true
		}
	}
	return false
}

// Sources are the processes with accelerators: hosts by service. A process with neither may be any, and one without a host
// any of its service.
type Sources map[string]map[string]bool

// Add adds the process of an accelerator.
func (s *Sources) Add(service, host string) {
	if *s == nil {
		*s = make(Sources)
	}
	if (*s)[service] == nil {
		(*s)[service] = make(map[string]bool)
	}
	(*s)[service][host] = true
}

// Has reports whether the process with a service and host may have an accelerator.
func (s Sources) Has(service, host string) bool {
	hosts := s[service]
	return hosts[host] || hosts[""] || host == "" && len(hosts) > 0 || s[""][""] || service == "" && host == "" && len(s) > 0
}

// Launches reports whether an operation shows that a host launches work of accelerators: one of an accelerator has a
// launch time, or one of the host's processor is an operator of PyTorch.
func Launches(id, operation string, hasLaunch bool) bool {
	return hasLaunch && IsAccelerator(id) || strings.HasPrefix(operation, "aten::") && IsHost(id)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
