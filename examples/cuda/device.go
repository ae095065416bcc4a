package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"
)

// The streams of the device. Each runs what is enqueued in order, beside the others. The
// last one is idle, for reading the clock.
const (
	firstCompute = iota
	secondCompute
	copyStream
	clockStream
	numStreams

	numCompute = copyStream
)

// errNoDevice says that there is nothing to run on.
var errNoDevice = errors.New("no CUDA device can be used here")

// device is the first device of the driver, with what is allocated on it. One goroutine
// uses it, whose thread the context belongs to.
type device struct {
	*driver
	name    string
	streams [numStreams]handle
	matmul  handle
	clock   *eventClock
	free    []*event // events that may be used again
	cleanup []func() error
}

// openDevice makes the first device's primary context that of the goroutine's thread, and
// the streams and the kernel in it.
func openDevice(drv *driver) (_ *device, err error) {
	d := &device{driver: drv}
	ordinal, err := d.find()
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	d.cleanup = append(d.cleanup, func() error { runtime.UnlockOSThread(); return nil })
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	var ctx, module handle
	if err := d.check("cuDevicePrimaryCtxRetain", d.PrimaryRetain(&ctx, ordinal)); err != nil {
		return nil, err
	}
	d.atClose("cuDevicePrimaryCtxRelease", func() result { return d.PrimaryRelease(ordinal) })
	if err := d.check("cuCtxSetCurrent", d.CtxSetCurrent(ctx)); err != nil {
		return nil, err
	}
	d.atClose("cuCtxSetCurrent", func() result { return d.CtxSetCurrent(0) })
	if err := d.check("cuModuleLoadData", d.ModuleLoadData(&module, cString(matmulPTX))); err != nil {
		return nil, err
	}
	d.atClose("cuModuleUnload", func() result { return d.ModuleUnload(module) })
	if err := d.check("cuModuleGetFunction", d.ModuleGetFunction(&d.matmul, module, cString("matmul"))); err != nil {
		return nil, err
	}
	for i := range d.streams {
		if err := d.check("cuStreamCreate", d.StreamCreate(&d.streams[i], streamNonBlocking)); err != nil {
			return nil, err
		}
		d.atClose("cuStreamDestroy", func() result { return d.StreamDestroy(d.streams[i]) })
	}
	d.clock, err = newEventClock(d, d.streams[clockStream])
	return d, err
}

// find returns the first device. Where there is none, or the driver cannot begin, the
// error is errNoDevice.
func (d *device) find() (devHandle, error) {
	if err := d.check("cuInit", d.Init(0)); err != nil {
		return 0, fmt.Errorf("%w: %w", errNoDevice, err)
	}
	var n int32
	if err := d.check("cuDeviceGetCount", d.DeviceCount(&n)); err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, fmt.Errorf("%w: the driver has none", errNoDevice)
	}
	var ordinal devHandle
	if err := d.check("cuDeviceGet", d.DeviceGet(&ordinal, 0)); err != nil {
		return 0, err
	}
	name := make([]byte, 256)
	if err := d.check("cuDeviceGetName", d.DeviceName(&name[0], int32(len(name)-1), ordinal)); err != nil {
		return 0, err
	}
	d.name = goString(&name[0])
	return ordinal, nil
}

// cString returns the text with a zero behind it.
func cString(text string) *byte { return &append([]byte(text), 0)[0] }

// atClose calls the driver when the device is closed, the last call first.
func (d *device) atClose(call string, do func() result) {
	d.cleanup = append(d.cleanup, func() error { return d.check(call, do()) })
}

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

// memory returns n numbers in the device's memory.
func (d *device) memory(n int) (p address, err error) {
	if err := d.check("cuMemAlloc", d.MemAlloc(&p, sizeOf(n))); err != nil {
		return 0, err
	}
	d.atClose("cuMemFree", func() result { return d.MemFree(p) })
	return p, nil
}

// pinned returns n numbers of the host, which the device copies from and to while the host
// goes on.
func (d *device) pinned(n int) ([]float32, error) {
	var p unsafe.Pointer
	if err := d.check("cuMemHostAlloc", d.MemHostAlloc(&p, sizeOf(n), 0)); err != nil {
		return nil, err
	}
	d.atClose("cuMemFreeHost", func() result { return d.MemFreeHost(p) })
	return unsafe.Slice((*float32)(p), n), nil
}

func sizeOf(n int) uintptr { return uintptr(n) * unsafe.Sizeof(float32(0)) }

func (d *device) copyIn(stream int, to address, from []float32) error {
	return d.check("cuMemcpyHtoDAsync", d.CopyToDevice(to, unsafe.Pointer(&from[0]), sizeOf(len(from)), d.streams[stream]))
}

func (d *device) copyOut(stream int, to []float32, from address) error {
	return d.check("cuMemcpyDtoHAsync", d.CopyToHost(unsafe.Pointer(&to[0]), from, sizeOf(len(to)), d.streams[stream]))
}

// product is a batched matrix product with its arguments, made once.
type product struct {
	a, b, c address
	n       uint32
	batch   uint32
	params  [4]unsafe.Pointer // to the first four
}

func newProduct(a, b, c address, n, batch int) *product {
	p := &product{a: a, b: b, c: c, n: uint32(n), batch: uint32(batch)}
	p.params = [...]unsafe.Pointer{unsafe.Pointer(&p.a), unsafe.Pointer(&p.b), unsafe.Pointer(&p.c), unsafe.Pointer(&p.n)}
	return p
}

func (d *device) multiply(stream int, p *product) error {
	side := (p.n + blockSide - 1) / blockSide
	return d.check("cuLaunchKernel", d.LaunchKernel(d.matmul, side, side, p.batch, blockSide, blockSide, 1, 0,
		d.streams[stream], &p.params[0], nil))
}

func (d *device) synchronize(stream int) error {
	return d.check("cuStreamSynchronize", d.StreamSynchronize(d.streams[stream]))
}
