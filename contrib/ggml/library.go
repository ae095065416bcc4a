package ggml

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/hybridgroup/yzma/pkg/loader"
	"github.com/hybridgroup/yzma/pkg/utils"
	"github.com/jupiterrider/ffi"
)

type library struct {
	opDesc, typeName, bufferType, typeDevice, deviceName       ffi.Fun
	version, overhead, start, free, newTensor, setName, mulMat ffi.Fun
	setPrecision, newBuffer, freeBuffer, allocate              ffi.Fun
}

func openLibrary(path string) (*library, error) {
	lib, err := loader.LoadLibrary(path, "ggml-base")
	if err != nil {
		return nil, fmt.Errorf("ggml: %w", err)
	}
	l := new(library)
	var errs []error
	pointer := &ffi.TypePointer
	size := &ffi.TypeUint64
	dims := &ffi.TypeSint64
	number := &ffi.TypeSint32
	params := ffi.NewType(size, pointer, &ffi.TypeUint8) // struct ggml_init_params
	prepare := func(f *ffi.Fun, name string, result *ffi.Type, args ...*ffi.Type) {
		fun, err := lib.Prep(name, result, args...)
		*f = fun
		errs = append(errs, err)
	}
	prepare(&l.opDesc, "ggml_op_desc", pointer, pointer)
	prepare(&l.typeName, "ggml_type_name", pointer, number)
	prepare(&l.bufferType, "ggml_backend_buffer_get_type", pointer, pointer)
	prepare(&l.typeDevice, "ggml_backend_buft_get_device", pointer, pointer)
	prepare(&l.deviceName, "ggml_backend_dev_name", pointer, pointer)
	prepare(&l.version, "ggml_version", pointer)
	prepare(&l.overhead, "ggml_tensor_overhead", size)
	prepare(&l.start, "ggml_init", pointer, &params)
	prepare(&l.free, "ggml_free", &ffi.TypeVoid, pointer)
	prepare(&l.newTensor, "ggml_new_tensor_4d", pointer, pointer, number, dims, dims, dims, dims)
	prepare(&l.setName, "ggml_set_name", pointer, pointer, pointer)
	prepare(&l.mulMat, "ggml_mul_mat", pointer, pointer, pointer, pointer)
	prepare(&l.setPrecision, "ggml_mul_mat_set_prec", &ffi.TypeVoid, pointer, number)
	prepare(&l.newBuffer, "ggml_backend_cpu_buffer_from_ptr", pointer, pointer, size)
	prepare(&l.freeBuffer, "ggml_backend_buffer_free", &ffi.TypeVoid, pointer)
	prepare(&l.allocate, "ggml_backend_tensor_alloc", number, pointer, pointer, pointer)
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("ggml: the library lacks a function: %w", err)
	}
	return l, nil
}

func text(f ffi.Fun, args ...any) string {
	var s *byte
	f.Call(&s, args...)
	if s == nil {
		return ""
	}
	return utils.BytePtrToString(s)
}

// device returns the id of a buffer's device.
func (l *library) device(buffer uintptr) string {
	var bufferType, device uintptr
	if buffer != 0 {
		l.bufferType.Call(&bufferType, &buffer)
		l.typeDevice.Call(&device, &bufferType)
	}
	if device == 0 {
		return "cpu" // its buffers may have no device
	}
	return deviceID(text(l.deviceName, &device))
}

// probe is a product of two tensors made by the library, [11,2,5,3] and [11,2,7,3] of f16. The first one has the name
// "probe" and a buffer; the product has a parameter, its precision.
type probe struct {
	version, operation   string
	overhead             uint64 // bytes of a tensor
	buffer               uintptr
	left, right, product *tensor
}

// checkLayout returns an error unless the library's tensors have the layout of tensor.
func (l *library) checkLayout() error {
	params := struct {
		size, memory uint64
		dry          uint8
	}{size: 1 << 16, dry: 1}
	var ctx uintptr
	if l.start.Call(&ctx, &params); ctx == 0 {
		return errors.New("ggml: ggml_init failed")
	}
	defer l.free.Call(nil, &ctx)
	p := probe{version: text(l.version)}
	f16 := int32(1)
	left := [4]int64{3, 5, 2, 11}
	right := [4]int64{3, 7, 2, 11}
	l.newTensor.Call(&p.left, &ctx, &f16, &left[0], &left[1], &left[2], &left[3])
	l.newTensor.Call(&p.right, &ctx, &f16, &right[0], &right[1], &right[2], &right[3])
	name := &[]byte("probe\x00")[0]
	l.setName.Call(&p.left, &p.left, &name)
	l.mulMat.Call(&p.product, &ctx, &p.left, &p.right)
	prec := precision
	l.setPrecision.Call(nil, &p.product, &prec)
	memory := &make([]byte, params.size)[0] // page-aligned, as the library requires
	var status int32
	l.newBuffer.Call(&p.buffer, &memory, &params.size)
	l.allocate.Call(&status, &p.buffer, &p.left, &memory)
	defer runtime.KeepAlive(memory)
	defer l.freeBuffer.Call(nil, &p.buffer)
	l.overhead.Call(&p.overhead)
	p.operation = text(l.opDesc, &p.product)
	return p.check()
}

const precision int32 = 10 // GGML_PREC_F32

func (p *probe) check() error {
	const header = 32 // bytes before each tensor
	a := p.left
	c := p.product
	differs := ""
	switch {
	case p.overhead != uint64(unsafe.Sizeof(tensor{}))+header:
		differs = "size"
	case a.dtype != 1 || c.dtype != 0:
		differs = "type"
	case a.ne != [4]int64{3, 5, 2, 11} || c.ne != [4]int64{5, 7, 2, 11} || a.nb != [4]uint64{2, 6, 30, 60}:
		differs = "ne, nb"
	case a.op != 0 || c.op == 0 || p.operation != "MUL_MAT":
		differs = "op"
	case a.src != [10]*tensor{} || c.src != [10]*tensor{p.left, p.right}:
		differs = "src"
	case a.params[0] != 0 || c.params[0] != precision:
		differs = "op_params"
	case a.buffer != p.buffer || c.buffer != 0:
		differs = "buffer"
	case a.label() != "probe" || c.label() != "":
		differs = "name"
	default:
		return nil
	}
	return fmt.Errorf("ggml: version %s of the library has another layout of ggml_tensor than this package knows (%s)",
		p.version, differs)
}
