package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// fakeDevice is a device in memory. It runs operations at once and reports durations in order per stream, with a
// drifting clock.
type fakeDevice struct {
	t       *testing.T
	begun   int64 // Unix ns; the host's clock may be slewed
	next    handle
	memory  map[address][]float32
	pinned  map[unsafe.Pointer][]float32
	streams map[handle]int64 // end of the work of each stream, by the device's clock
	events  map[handle]*fakeEvent
	stamps  map[handle][]int64 // of timed events, by stream
	module  handle
	wrong   bool              // makes products false
	fail    map[string]result // results of calls
	open    map[string]int    // live objects
}

type fakeEvent struct {
	timed    bool
	recorded bool
	waited   bool // the host waited for it, to read the clock
	at       int64
}

// Durations of operations.
const (
	fakeKernel = 300_000
	fakeCopy   = 200_000
)

const (
	errorInvalid  result = 1
	errorNoDevice result = 100
	errorHandle   result = 400
)

func newFake(t *testing.T) *fakeDevice {
	return &fakeDevice{
		t: t, begun: time.Now().UnixNano(), next: 0x1000, memory: map[address][]float32{},
		pinned: map[unsafe.Pointer][]float32{}, streams: map[handle]int64{}, events: map[handle]*fakeEvent{},
		stamps: map[handle][]int64{}, fail: map[string]result{}, open: map[string]int{},
	}
}

const fakeOrigin, fakeDrift = 7_000_000_000, 1.00008

func (f *fakeDevice) now() int64 {
	return fakeOrigin + int64(float64(time.Now().UnixNano()-f.begun)*fakeDrift)
}

// unix converts the device's time to the host's.
func (f *fakeDevice) unix(at int64) int64 {
	return f.begun + int64(float64(at-fakeOrigin)/fakeDrift)
}

// enqueue returns the end of an operation on a stream, and 0 for an unknown stream.
func (f *fakeDevice) enqueue(stream handle, ns int64) int64 {
	until, ok := f.streams[stream]
	if !ok {
		return 0
	}
	until = max(until, f.now()) + ns
	f.streams[stream] = until
	return until
}

// sleep waits until a time of the device.
func (f *fakeDevice) sleep(until int64) result {
	for f.now() < until {
		time.Sleep(20 * time.Microsecond)
	}
	return success
}

func (f *fakeDevice) create(what string) handle {
	f.open[what]++
	f.next++
	return f.next
}

func (f *fakeDevice) destroy(what string, there bool) result {
	if !there {
		return errorHandle
	}
	f.open[what]--
	return success
}

// known returns errorHandle for an unknown handle.
func known(there bool) result {
	if !there {
		return errorHandle
	}
	return success
}

func (f *fakeDevice) driver() *driver {
	d := &driver{
		Init:         func(uint32) result { return f.fail["cuInit"] },
		GetErrorName: f.errorName,
		DeviceCount:  func(n *int32) result { *n = 1; return f.fail["cuDeviceGetCount"] },
		DeviceGet:    func(d *devHandle, ordinal int32) result { *d = 3; return result(ordinal) },
		DeviceName: func(name *byte, length int32, _ devHandle) result {
			copy(unsafe.Slice(name, length), "Fake\x00")
			return success
		},
		PrimaryRetain:  func(ctx *handle, _ devHandle) result { *ctx = f.create("context"); return success },
		PrimaryRelease: func(d devHandle) result { return f.destroy("context", d == 3) },
		CtxSetCurrent:  func(handle) result { return success },
		CtxSynchronize: func() result {
			for _, until := range f.streams {
				f.sleep(until)
			}
			return success
		},
	}
	f.addWork(d)
	f.addStreams(d)
	return d
}

func (f *fakeDevice) errorName(r result, name **byte) result {
	if r != errorNoDevice {
		return errorInvalid
	}
	*name = cString("CUDA_ERROR_NO_DEVICE")
	return success
}

func (f *fakeDevice) addWork(d *driver) {
	d.ModuleLoadData = func(m *handle, image *byte) result {
		if !strings.HasPrefix(goString(image), ".version 6.0\n.target sm_50\n") {
			return errorInvalid
		}
		f.module = f.create("module")
		*m = f.module
		return f.fail["cuModuleLoadData"]
	}
	d.ModuleUnload = func(m handle) result { return f.destroy("module", m == f.module) }
	d.ModuleGetFunction = func(fn *handle, m handle, name *byte) result {
		*fn = f.module + 0x10000
		return known(m == f.module && strings.Contains(matmulPTX, ".entry "+goString(name)+"("))
	}
	d.LaunchKernel = f.launch
	d.MemAlloc = func(p *address, bytes uintptr) result {
		*p = address(f.create("memory")) << 20
		f.memory[*p] = make([]float32, bytes/4)
		return f.fail["cuMemAlloc"]
	}
	d.MemFree = func(p address) result { return f.destroy("memory", f.memory[p] != nil) }
	d.MemHostAlloc = func(p *unsafe.Pointer, bytes uintptr, _ uint32) result {
		numbers := make([]float32, bytes/4)
		*p = unsafe.Pointer(&numbers[0])
		f.pinned[*p] = numbers
		f.open["pinned"]++
		return success
	}
	d.MemFreeHost = func(p unsafe.Pointer) result { return f.destroy("pinned", f.pinned[p] != nil) }
	d.CopyToDevice = func(to address, from unsafe.Pointer, bytes uintptr, stream handle) result {
		return f.copy(f.memory[to], f.pinned[from], bytes, stream)
	}
	d.CopyToHost = func(to unsafe.Pointer, from address, bytes uintptr, stream handle) result {
		return f.copy(f.pinned[to], f.memory[from], bytes, stream)
	}
}

func (f *fakeDevice) copy(to, from []float32, bytes uintptr, stream handle) result {
	if f.enqueue(stream, fakeCopy) == 0 || int(bytes/4) > min(len(to), len(from)) {
		return errorInvalid
	}
	copy(to, from[:bytes/4])
	return success
}

// launch multiplies like the kernel, with a thread for each number.
func (f *fakeDevice) launch(
	fn handle, gridX, gridY, gridZ, blockX, blockY, blockZ, _ uint32, stream handle, params, _ *unsafe.Pointer,
) result {
	p := unsafe.Slice(params, 4)
	a := f.memory[*(*address)(p[0])]
	b := f.memory[*(*address)(p[1])]
	c := f.memory[*(*address)(p[2])]
	n := *(*uint32)(p[3])
	if fn != f.module+0x10000 || blockZ != 1 || blockX*blockY > 1024 || f.enqueue(stream, fakeKernel) == 0 {
		return errorInvalid
	}
	for z := range gridZ {
		for row := range min(gridY*blockY, n) {
			for column := range min(gridX*blockX, n) {
				sum := float32(0)
				for k := range n {
					sum += a[(z*n+row)*n+k] * b[k*n+column]
				}
				c[(z*n+row)*n+column] = sum
			}
		}
	}
	if f.wrong {
		c[n*n-1]++
	}
	return f.fail["cuLaunchKernel"]
}

func (f *fakeDevice) addStreams(d *driver) {
	d.StreamCreate = func(s *handle, _ uint32) result {
		*s = f.create("stream")
		f.streams[*s] = 0
		return success
	}
	d.StreamDestroy = func(s handle) result { _, there := f.streams[s]; return f.destroy("stream", there) }
	d.StreamSynchronize = func(s handle) result { return f.sleep(f.streams[s]) }
	d.StreamWaitEvent = func(s, e handle, _ uint32) result {
		f.streams[s] = max(f.streams[s], f.events[e].at)
		return success
	}
	d.EventCreate = func(e *handle, flags uint32) result {
		*e = f.create("event")
		f.events[*e] = &fakeEvent{timed: flags == eventTimed}
		return success
	}
	d.EventDestroy = func(e handle) result { return f.destroy("event", f.events[e] != nil) }
	d.EventRecord = func(e, s handle) result {
		at := f.enqueue(s, 0)
		if f.events[e] == nil || at == 0 {
			return errorHandle
		}
		f.events[e].recorded = true
		f.events[e].at = at
		if f.events[e].timed {
			f.stamps[s] = append(f.stamps[s], at)
		}
		return success
	}
	d.EventSynchronize = func(e handle) result {
		f.events[e].waited = true
		return f.sleep(f.events[e].at)
	}
	d.EventElapsed = func(ms *float32, from, to handle) result {
		a := f.events[from]
		b := f.events[to]
		switch {
		case a == nil || b == nil || !a.timed || !b.timed || !a.recorded || !b.recorded:
			return errorHandle
		case max(a.at, b.at) > f.now():
			return errorNotReady
		case !b.waited && f.fail["cuEventElapsedTime"] != success:
			return f.fail["cuEventElapsedTime"]
		}
		if b.at < a.at {
			f.t.Errorf("an event is timed by a later one, of %d ns after it", a.at-b.at)
		}
		*ms = float32(float64(b.at/500*500-a.at/500*500) / 1e6) // resolution of real devices
		return success
	}
}

func (f *fakeDevice) leaks() (left []string) {
	for what, n := range f.open {
		if n != 0 {
			left = append(left, fmt.Sprintf("%d × %s", n, what))
		}
	}
	return left
}
