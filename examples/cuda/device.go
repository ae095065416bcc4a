package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"
)

// Streams of the device. Each runs its operations in order, in parallel with the others. The idle last one serves to
// read the clock.
const (
	firstCompute = iota
	secondCompute
	copyStream
	clockStream
	numStreams

	numCompute = copyStream
)

// errNoDevice is the error of a machine without a usable device.
var errNoDevice = errors.New("no CUDA device can be used here")

// device is the driver's first device with its allocations. One goroutine uses it, locked to a thread with the device's
// context.
type device struct {
	*driver
	name    string
	streams [numStreams]handle
	matmul  handle
	clock   *eventClock
	free    []*event // unused events
	cleanup []func() error
	err     error // of the first failed call; later calls are skipped
}

// openDevice makes the first device's primary context current on this thread, and creates the streams and the kernel.
func openDevice(drv *driver) (*device, error) {
	d := &device{driver: drv}
	ordinal, err := d.find()
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	d.cleanup = append(d.cleanup, func() error { runtime.UnlockOSThread(); return nil })
	var ctx, module handle
	d.create("cuDevicePrimaryCtxRetain", func() result { return d.PrimaryRetain(&ctx, ordinal) },
		"cuDevicePrimaryCtxRelease", func() result { return d.PrimaryRelease(ordinal) })
	d.create("cuCtxSetCurrent", func() result { return d.CtxSetCurrent(ctx) },
		"cuCtxSetCurrent", func() result { return d.CtxSetCurrent(0) })
	d.create("cuModuleLoadData", func() result { return d.ModuleLoadData(&module, cString(matmulPTX)) },
		"cuModuleUnload", func() result { return d.ModuleUnload(module) })
	d.do("cuModuleGetFunction", func() result { return d.ModuleGetFunction(&d.matmul, module, cString("matmul")) })
	for i := range d.streams {
		d.create("cuStreamCreate", func() result { return d.StreamCreate(&d.streams[i], streamNonBlocking) },
			"cuStreamDestroy", func() result { return d.StreamDestroy(d.streams[i]) })
	}
	if d.err == nil {
		d.clock, d.err = newEventClock(d, d.streams[clockStream])
	}
	if d.err != nil {
		return nil, errors.Join(d.err, d.close())
	}
	return d, nil
}

// find returns the first device. Without a device or a working driver the error is errNoDevice.
func (d *device) find() (ordinal devHandle, err error) {
	if err := d.check("cuInit", d.Init(0)); err != nil {
		return 0, fmt.Errorf("%w: %w", errNoDevice, err)
	}
	var n int32
	if d.do("cuDeviceGetCount", func() result { return d.DeviceCount(&n) }); d.err == nil && n == 0 {
		return 0, fmt.Errorf("%w: the driver has none", errNoDevice)
	}
	name := make([]byte, 256)
	d.do("cuDeviceGet", func() result { return d.DeviceGet(&ordinal, 0) })
	d.do("cuDeviceGetName", func() result { return d.DeviceName(&name[0], int32(len(name)-1), ordinal) })
	d.name = goString(&name[0])
	return ordinal, d.err
}

// do calls the driver, unless an earlier call failed.
func (d *device) do(call string, f func() result) {
	if d.err == nil {
		d.err = d.check(call, f())
	}
}

// create is do for a call with an undo function. close calls the undo functions in reverse order.
func (d *device) create(call string, f func() result, undo string, g func() result) {
	if d.do(call, f); d.err == nil {
		d.cleanup = append(d.cleanup, func() error { return d.check(undo, g()) })
	}
}

// cString returns text with a terminating zero.
func cString(text string) *byte { return &append([]byte(text), 0)[0] }

func (d *device) close() error {
	var errs []error
	if d.clock != nil {
		errs = append(errs, d.check("cuCtxSynchronize", d.CtxSynchronize()))
	}
	for _, do := range slices.Backward(d.cleanup) {
		errs = append(errs, do())
	}
	d.cleanup = nil
	return errors.Join(errs...)
}

// memory allocates n numbers on the device.
func (d *device) memory(n int) (p address) {
	d.create("cuMemAlloc", func() result { return d.MemAlloc(&p, sizeOf(n)) },
		"cuMemFree", func() result { return d.MemFree(p) })
	return p
}

// pinned allocates n numbers on the host for asynchronous copies. It returns nil after an error.
func (d *device) pinned(n int) []float32 {
	var p unsafe.Pointer
	d.create("cuMemHostAlloc", func() result { return d.MemHostAlloc(&p, sizeOf(n), 0) },
		"cuMemFreeHost", func() result { return d.MemFreeHost(p) })
	if d.err != nil {
		return nil
	}
	return unsafe.Slice((*float32)(p), n)
}

func sizeOf(n int) uintptr { return uintptr(n) * unsafe.Sizeof(float32(0)) }

func (d *device) copyIn(stream int, to address, from []float32) {
	d.do("cuMemcpyHtoDAsync", func() result {
		return d.CopyToDevice(to, unsafe.Pointer(&from[0]), sizeOf(len(from)), d.streams[stream])
	})
}

func (d *device) copyOut(stream int, to []float32, from address) {
	d.do("cuMemcpyDtoHAsync", func() result {
		return d.CopyToHost(unsafe.Pointer(&to[0]), from, sizeOf(len(to)), d.streams[stream])
	})
}

// product is a batched matrix product with its arguments.
type product struct {
	a, b, c  address
	n, batch uint32
	params   [4]unsafe.Pointer // pointers to a, b, c and n
}

func newProduct(a, b, c address, n, batch int) *product {
	p := &product{a: a, b: b, c: c, n: uint32(n), batch: uint32(batch)}
	p.params = [...]unsafe.Pointer{
		unsafe.Pointer(&p.a), unsafe.Pointer(&p.b), unsafe.Pointer(&p.c), unsafe.Pointer(&p.n),
	}
	return p
}

func (d *device) multiply(stream int, p *product) {
	side := (p.n + blockSide - 1) / blockSide
	d.do("cuLaunchKernel", func() result {
		return d.LaunchKernel(d.matmul, side, side, p.batch, blockSide, blockSide, 1, 0,
			d.streams[stream], &p.params[0], nil)
	})
}

func (d *device) synchronize(stream int) {
	d.do("cuStreamSynchronize", func() result { return d.StreamSynchronize(d.streams[stream]) })
}
