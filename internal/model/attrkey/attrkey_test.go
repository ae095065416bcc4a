package attrkey

import (
	"strings"
	"testing"
)

func TestCallsOfTheRuntime(t *testing.T) {
	for call, want := range map[string]bool{
		"cudaFree": true, "cuModuleUnload": true, "hipExtModuleLaunchKernel": true, "cuda": false, "custom_range": false,
		"preprocess": false,
	} {
		if IsRuntime(call) != want {
			t.Errorf("%s: not %t", call, want)
		}
	}
}

func TestCallsThatWait(t *testing.T) {
	for want, calls := range map[string]string{
		"host": "cudaStreamSynchronize cudaDeviceSynchronize hipEventSynchronize cuCtxSynchronize cudaMemcpy hipMemcpy " +
			"hipMemcpyWithStream cuMemcpyDtoH_v2 zeEventHostSynchronize aclrtSynchronizeStream",
		"stream": "cudaStreamWaitEvent hipStreamWaitEvent cuStreamWaitEvent cudaStreamWaitEvent_ptsz",
		"": "cudaLaunchKernel cudaMemcpyAsync cuMemcpyDtoHAsync_v2 cudaMemcpyPeer cuMemcpyDtoD_v2 cudaEventQuery " +
			"cudaMemset cudaGraphAddMemcpyNode cudaEventRecord",
	} {
		for call := range strings.FieldsSeq(calls) {
			if IsWait(call) != (want == "host") || IsStreamWait(call) != (want == "stream") {
				t.Errorf("%s: IsWait %t, IsStreamWait %t, want %q", call, IsWait(call), IsStreamWait(call), want)
			}
		}
	}
}
