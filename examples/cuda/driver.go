package main

import (
	"errors"
	"fmt"
	"unsafe"
)

// Handles and addresses of the driver.
type (
	result    int32
	address   uint64 // in the device's memory
	devHandle int32
	handle    uintptr // of a context, module, function, stream or event
)

// Results of the driver, and flags.
const (
	success       result = 0
	errorNotReady result = 600

	eventTimed        = 0
	eventUntimed      = 2
	streamNonBlocking = 1
)

// driver holds the functions of libcuda in use, by their names in the library. cuda.h hides some of them behind
// unversioned names.
type driver struct {
	Init         func(flags uint32) result                               `symbol:"cuInit"`
	GetErrorName func(r result, name **byte) result                      `symbol:"cuGetErrorName"`
	DeviceCount  func(n *int32) result                                   `symbol:"cuDeviceGetCount"`
	DeviceGet    func(d *devHandle, ordinal int32) result                `symbol:"cuDeviceGet"`
	DeviceName   func(name *byte, length int32, device devHandle) result `symbol:"cuDeviceGetName"`

	PrimaryRetain  func(ctx *handle, device devHandle) result `symbol:"cuDevicePrimaryCtxRetain"`
	PrimaryRelease func(device devHandle) result              `symbol:"cuDevicePrimaryCtxRelease_v2"`
	CtxSetCurrent  func(ctx handle) result                    `symbol:"cuCtxSetCurrent"`
	CtxSynchronize func() result                              `symbol:"cuCtxSynchronize"`

	ModuleLoadData    func(module *handle, image *byte) result                 `symbol:"cuModuleLoadData"`
	ModuleUnload      func(module handle) result                               `symbol:"cuModuleUnload"`
	ModuleGetFunction func(function *handle, module handle, name *byte) result `symbol:"cuModuleGetFunction"`
	LaunchKernel      func(function handle, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes uint32,
		stream handle,
		params, extra *unsafe.Pointer) result `symbol:"cuLaunchKernel"`

	MemAlloc     func(p *address, bytes uintptr) result                      `symbol:"cuMemAlloc_v2"`
	MemFree      func(p address) result                                      `symbol:"cuMemFree_v2"`
	MemHostAlloc func(p *unsafe.Pointer, bytes uintptr, flags uint32) result `symbol:"cuMemHostAlloc"`
	MemFreeHost  func(p unsafe.Pointer) result                               `symbol:"cuMemFreeHost"`
	CopyToDevice func(to address, from unsafe.Pointer, bytes uintptr,
		stream handle) result `symbol:"cuMemcpyHtoDAsync_v2"`
	CopyToHost func(to unsafe.Pointer, from address, bytes uintptr,
		stream handle) result `symbol:"cuMemcpyDtoHAsync_v2"`

	StreamCreate      func(stream *handle, flags uint32) result             `symbol:"cuStreamCreate"`
	StreamDestroy     func(stream handle) result                            `symbol:"cuStreamDestroy_v2"`
	StreamSynchronize func(stream handle) result                            `symbol:"cuStreamSynchronize"`
	StreamWaitEvent   func(stream, event handle, flags uint32) result       `symbol:"cuStreamWaitEvent"`
	EventCreate       func(event *handle, flags uint32) result              `symbol:"cuEventCreate"`
	EventDestroy      func(event handle) result                             `symbol:"cuEventDestroy_v2"`
	EventRecord       func(event, stream handle) result                     `symbol:"cuEventRecord"`
	EventSynchronize  func(event handle) result                             `symbol:"cuEventSynchronize"`
	EventElapsed      func(milliseconds *float32, start, end handle) result `symbol:"cuEventElapsedTime"`
}

// errNotPassed is the error of an event that the device has not passed.
var errNotPassed = errors.New("the device has not passed the event")

// check returns the error for result r of a call, nil for success.
func (d *driver) check(call string, r result) error {
	switch r {
	case success:
		return nil
	case errorNotReady:
		return errNotPassed
	}
	var name *byte
	if d.GetErrorName(r, &name) != success || name == nil {
		return fmt.Errorf("%s: CUDA error %d", call, r)
	}
	return fmt.Errorf("%s: %s (CUDA error %d)", call, goString(name), r)
}

// goString returns the zero-terminated text at p.
func goString(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
