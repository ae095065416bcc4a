package device_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/device"
)

func TestHostsAndAccelerators(t *testing.T) {
	for id, want := range map[string][2]bool{ // the host's, an accelerator
		"": {true, false}, "cpu": {true, false}, "CPU:0": {true, false}, "cpu1": {true, false},
		"cpuset": {false, false}, "node-1": {false, false}, "disk": {false, false}, "unknown": {false, false},
		"cuda:0": {false, true}, "GPU0": {false, true}, "hip:3": {false, true}, "mps": {false, true}, "tpu:2": {false, true},
		"hippo": {false, false},
	} {
		if got := [2]bool{device.IsHost(id), device.IsAccelerator(id)}; got != want {
			t.Errorf("%q: host %t, accelerator %t", id, got[0], got[1])
		}
	}
}
