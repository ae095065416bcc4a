// Package peaks holds the peak rates of devices for arithmetic, memory and links, from a JSON file or from the data
// sheets of well-known devices, which are also found by their names in traces.
//
//	{"devices": [
//	  {"match": "cuda:*", "device": "nvidia-h100-sxm"},
//	  {"match": "cpu*", "name": "our hosts", "source": "measured with STREAM and DGEMM",
//	   "memory_bytes_per_second": 2e11, "flops_per_second": {"f32": 3e12, "f64": 1.5e12}}
//	]}
//
// The first matching device counts. Peaks are for dense arithmetic in the element type of the operands. Package analyze
// computes rooflines from them.
package peaks

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/optrace/optrace/analyze/internal/pattern"
	"github.com/optrace/optrace/op"
)

// Table holds the peaks of devices.
type Table struct {
	Devices []Device `json:"devices"`
}

// Device holds the peaks of devices with matching ids.
type Device struct {
	// Match is a pattern of device ids; * stands for any text, and "" matches all.
	Match string `json:"match,omitempty"`
	// Device is the short name of a well-known device.
	Device string `json:"device,omitempty"`
	// Name is the device's full name. Source is the origin of the figures.
	Name   string `json:"name,omitempty"`
	Source string `json:"source,omitempty"`
	// Model is the name in the trace by which the device was found.
	Model string `json:"model,omitempty"`
	// BytesPerSecond is the memory bandwidth. LinkBytesPerSecond is the bandwidth to other devices by NVLink, xGMI or
	// ICI, and PCIeBytesPerSecond by PCIe, both in one direction; 0 is unknown.
	BytesPerSecond     float64 `json:"memory_bytes_per_second"`
	LinkBytesPerSecond float64 `json:"link_bytes_per_second,omitzero"`
	PCIeBytesPerSecond float64 `json:"pcie_bytes_per_second,omitzero"`
	// FLOPsPerSecond maps element types to peak rates without sparsity. TF32FLOPsPerSecond is the rate of tensor cores
	// for products of f32 rounded to TF32, 0 for a device without them.
	FLOPsPerSecond     map[op.DType]float64 `json:"flops_per_second"`
	TF32FLOPsPerSecond float64              `json:"tf32_flops_per_second,omitzero"`
}

// TF32 names the arithmetic of tensor cores on f32 in texts.
const TF32 = "tf32"

// Names of NVIDIA's devices without tensor cores (before Volta, and the small ones of Turing), and without TF32 (before
// Ampere).
var (
	plainDevices  = regexp.MustCompile(`\b(GTX?|MX\d+|T\d{3,4}|P\d+|(Tesla|Quadro) [CKMP]\d+|TITAN X\w*)\b`)
	halvesDevices = regexp.MustCompile(`\b(V100\w*|T4G?|TITAN (V|RTX)|RTX 20\d\d|Quadro (RTX|GV100))\b`)
)

// HasTensorCores reports whether an NVIDIA device has tensor cores, by its name in a trace. They are the rule.
func HasTensorCores(model string) bool { return !plainDevices.MatchString(model) }

// HasTF32 reports whether an NVIDIA device has tensor cores with TF32, by its name in a trace.
func HasTF32(model string) bool { return HasTensorCores(model) && !halvesDevices.MatchString(model) }

// Rate returns the peak rate for an operation on dtype and the name of its arithmetic: dtype or TF32. 0 is unknown.
// flops and ns, its work and duration, decide between TF32 and f32 where its name does not.
func (d *Device) Rate(dtype op.DType, operation string, flops, ns int64) (perSecond float64, arithmetic string) {
	perSecond = d.FLOPsPerSecond[dtype]
	arithmetic = string(dtype)
	if dtype != op.F32 || d.TF32FLOPsPerSecond == 0 {
		return perSecond, arithmetic
	}
	uses := float64(flops) > perSecond*float64(ns)/1e9
	switch has := func(part string) bool { return strings.Contains(operation, part) }; {
	case slices.ContainsFunc(tensorNames, has):
		uses = true
	case slices.ContainsFunc(scalarNames, has):
		uses = false
	}
	if uses {
		return d.TF32FLOPsPerSecond, TF32
	}
	return perSecond, arithmetic
}

// Parts of the names of kernels for f32, of cuBLAS, cuDNN and CUTLASS, with and without tensor cores.
var (
	tensorNames = []string{"tf32", "tensorop", "_s1688"}
	scalarNames = []string{"simt", "ffma", "sgemm", "scudnn"}
)

//go:embed devices.json
var shipped []byte

// wellKnown is a shipped device. Models are its names in traces.
type wellKnown struct {
	Device
	Models []string `json:"models"`
}

var devices = sync.OnceValue(func() []wellKnown {
	var t struct {
		Devices []wellKnown `json:"devices"`
	}
	if err := json.Unmarshal(shipped, &t); err != nil {
		panic(err) // covered by a test
	}
	return t.Devices
})

// Known returns the well-known devices.
func Known() []Device {
	var list []Device
	for _, d := range devices() {
		list = append(list, d.Device)
	}
	return list
}

// OfModel returns the peaks of the well-known device that traces call model, nil for another one.
func OfModel(model string) *Device {
	for _, d := range devices() {
		if slices.Contains(d.Models, model) {
			d.Model = model
			return &d.Device
		}
	}
	return nil
}

// Of returns a table with a single well-known device for all ids. ok is false for an unknown name.
func Of(name string) (table *Table, ok bool) {
	for _, d := range Known() {
		if d.Device == name {
			return &Table{Devices: []Device{d}}, true
		}
	}
	return nil, false
}

// Parse reads a table from JSON. It returns an error for unknown fields, devices and element types.
func Parse(text []byte) (*Table, error) {
	var t Table
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return nil, fmt.Errorf("reading peaks: %w", err)
	}
	if dec.More() {
		return nil, errors.New("reading peaks: unexpected text after the object")
	}
	if len(t.Devices) == 0 {
		return nil, errors.New("reading peaks: no devices")
	}
	for i := range t.Devices {
		if err := t.Devices[i].complete(); err != nil {
			return nil, fmt.Errorf("reading peaks: device %d: %w", i+1, err)
		}
	}
	return &t, nil
}

// complete checks a device, converts its element types to short names, and fills in the peaks of a well-known device.
func (d *Device) complete() error {
	if d.Device != "" {
		known, ok := Of(d.Device)
		if !ok {
			return fmt.Errorf("%q is not known; known are %s", d.Device, strings.Join(Names(), ", "))
		}
		if d.BytesPerSecond != 0 || d.FLOPsPerSecond != nil {
			return fmt.Errorf("%q has peaks already: leave out device to state others", d.Device)
		}
		match := d.Match
		*d = known.Devices[0]
		d.Match = match
		return nil
	}
	if !isPeak(d.BytesPerSecond) {
		return fmt.Errorf("memory_bytes_per_second is %g", d.BytesPerSecond)
	}
	for _, rate := range []float64{d.LinkBytesPerSecond, d.PCIeBytesPerSecond, d.TF32FLOPsPerSecond} {
		if rate != 0 && !isPeak(rate) {
			return fmt.Errorf("a rate of links or of TF32 is %g", rate)
		}
	}
	types := make(map[op.DType]float64)
	for _, name := range slices.Sorted(maps.Keys(d.FLOPsPerSecond)) {
		dtype, ok := op.ParseDType(string(name))
		switch {
		case !ok:
			return fmt.Errorf("flops_per_second: %q is not an element type", string(name))
		case !isPeak(d.FLOPsPerSecond[name]):
			return fmt.Errorf("flops_per_second of %s is %g", name, d.FLOPsPerSecond[name])
		}
		if _, twice := types[dtype]; twice {
			return fmt.Errorf("flops_per_second: repeated type %s", dtype)
		}
		types[dtype] = d.FLOPsPerSecond[name]
	}
	d.FLOPsPerSecond = types
	return nil
}

func isPeak(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// Names returns the names of the well-known devices.
func Names() []string {
	var names []string
	for _, d := range Known() {
		names = append(names, d.Device)
	}
	return names
}

// Find returns the peaks of the device with the given id, nil if unknown.
func (t *Table) Find(id string) *Device {
	if t == nil {
		return nil
	}
	for i := range t.Devices {
		if d := &t.Devices[i]; d.Match == "" || pattern.Matches(d.Match, id) {
			return d
		}
	}
	return nil
}

// Accelerator returns the peaks of devices that can run launched operations: devices of the table except
// patterns starting with "cpu". It returns nil unless all of them have equal peaks.
func (t *Table) Accelerator() *Device {
	var found *Device
	for i := range t.Devices {
		d := &t.Devices[i]
		switch {
		case strings.HasPrefix(d.Match, "cpu"):
		case found != nil && (found.BytesPerSecond != d.BytesPerSecond ||
			!maps.Equal(found.FLOPsPerSecond, d.FLOPsPerSecond)):
			return nil
		default:
			found = d
		}
	}
	return found
}
