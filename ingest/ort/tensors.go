package ort

import (
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/text/lexer"
)

// tensor reads a tensor of a list of types and shapes. An element that is no tensor has no type and the shape null.
//
//	[{"float":[1,3,224,224]},{"int64":[]}]
func (d *decoder) tensor() (dtype string, shape []byte) {
	l := &d.lex
	shape = []byte("null")
	for more := l.AnyObject(); more && l.More(); {
		dtype = lexer.ValidUTF8(d.strings.String(l.Key()))
		shape = l.Raw()
	}
	return dtype, shape
}

// inputs gives the types and shapes of a node's inputs to the builder.
func (d *decoder) inputs() {
	d.dtypes = d.dtypes[:0]
	d.shapes = append(d.shapes[:0], '[')
	for d.lex.Array(); d.lex.More(); {
		dtype, shape := d.tensor()
		if len(d.dtypes) > 0 {
			d.shapes = append(d.shapes, ',')
		}
		d.dtypes = append(d.dtypes, dtype)
		d.shapes = append(d.shapes, shape...)
	}
	d.build.SetList(d.build.Target(attrkey.InputShapes), append(d.shapes, ']'))
	d.build.SetStrs(d.build.Target(attrkey.InputDTypes), d.dtypes)
}

// outputs gives the type and shape of a node's first output to the builder.
func (d *decoder) outputs() {
	d.lex.Array()
	if !d.lex.More() {
		return
	}
	dtype, shape := d.tensor()
	d.build.Str(attrkey.DType, dtype)
	d.build.SetList(d.build.Target(attrkey.OutputShape), shape)
	for d.lex.More() {
		d.lex.Skip()
	}
}

// maxDevices bounds the cached providers; there are a dozen.
const maxDevices = 64

// The devices of nodes on the host, and of kernels without a known node.
const (
	hostDevice = "cpu"
	defaultGPU = "cuda"
)

// device returns the device of an execution provider: "cpu" for CPUExecutionProvider, "cuda" for CUDAExecutionProvider.
// The profile does not state its number.
func (d *decoder) device(provider []byte) string {
	if name, ok := d.devices[string(provider)]; ok {
		return name
	}
	name := strings.ToLower(strings.TrimSuffix(string(provider), "ExecutionProvider"))
	switch name {
	case "dnnl", "xnnpack", "acl", "armnn": // libraries on the CPU
		name = hostDevice
	case "tensorrt", "nvtensorrtrtx": // libraries on CUDA
		name = defaultGPU
	case "migraphx":
		name = "rocm"
	}
	if len(d.devices) < maxDevices {
		d.devices[string(provider)] = name
	}
	return name
}
