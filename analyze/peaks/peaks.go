// Package peaks tells how fast devices can compute and move memory at best: the figures of
// a JSON file, or those of a few well-known devices from their data sheets.
//
//	{"devices": [
//	  {"match": "cuda:*", "device": "nvidia-h100-sxm"},
//	  {"match": "cpu*", "name": "our hosts", "source": "measured with STREAM and DGEMM",
//	   "memory_bytes_per_second": 2e11, "flops_per_second": {"f32": 3e12, "f64": 1.5e12}}
//	]}
//
// The first device whose pattern matches an id counts. Peaks are those of dense arithmetic
// in the element type of the operands; package analyze makes rooflines of them.
package peaks

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/pattern"
	"github.com/optrace/optrace/op"
)

// Table has the peaks of devices.
type Table struct {
	Devices []Device `json:"devices"`
}

// Device has the peaks of the devices whose ids match a pattern.
type Device struct {
	// Match is a pattern of device ids, in which * stands for any text; "" matches all.
	Match string `json:"match,omitempty"`
	// Device is the name by which a well-known device is asked for.
	Device string `json:"device,omitempty"`
	// Name is what people call it, and Source where the figures are from.
	Name   string `json:"name,omitempty"`
	Source string `json:"source,omitempty"`
	// BytesPerSecond is the bandwidth of the memory.
	BytesPerSecond float64 `json:"memory_bytes_per_second"`
	// FLOPsPerSecond is by element type.
	FLOPsPerSecond map[op.DType]float64 `json:"flops_per_second"`
}

//go:embed devices.json
var shipped []byte

// Known returns the well-known devices.
func Known() []Device {
	var t Table
	if err := json.Unmarshal(shipped, &t); err != nil {
		panic(err) // a test reads it
	}
	return t.Devices
}

// Of returns a table in which all devices are one that is well known.
func Of(name string) (*Table, bool) {
	for _, d := range Known() {
		if d.Device == name {
			return &Table{Devices: []Device{d}}, true
		}
	}
	return nil, false
}

// Parse reads the JSON of a table.
func Parse(text []byte) (*Table, error) {
	var t Table
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return nil, fmt.Errorf("reading peaks: %w", err)
	}
	if dec.More() {
		return nil, errors.New("reading peaks: there is something behind the object")
	}
	if len(t.Devices) == 0 {
		return nil, errors.New("reading peaks: there are no devices")
	}
	for i := range t.Devices {
		if err := t.Devices[i].complete(); err != nil {
			return nil, fmt.Errorf("reading peaks: device %d: %w", i+1, err)
		}
	}
	return &t, nil
}

// complete checks a device as it was read, gives its element types their short names, and
// fills in the peaks of a well-known one.
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
	types := make(map[op.DType]float64)
	for _, name := range slices.Sorted(maps.Keys(d.FLOPsPerSecond)) {
		dtype, ok := op.ParseDType(string(name))
		switch {
		case !ok:
			return fmt.Errorf("flops_per_second: %q is no element type", string(name))
		case !isPeak(d.FLOPsPerSecond[name]):
			return fmt.Errorf("flops_per_second of %s is %g", name, d.FLOPsPerSecond[name])
		}
		if _, twice := types[dtype]; twice {
			return fmt.Errorf("flops_per_second: %s is there twice", dtype)
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

// Find returns the peaks of the device with an id, nil where they are not known.
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

// Accelerator returns the peaks of the devices that operations are launched to: those in the table whose pattern
// is not one of ids that begin with cpu. It is nil unless they are of one kind.
func (t *Table) Accelerator() *Device {
	var found *Device
	for i := range t.Devices {
		d := &t.Devices[i]
		switch {
		case strings.HasPrefix(d.Match, "cpu"):
		case found != nil && (found.BytesPerSecond != d.BytesPerSecond || !maps.Equal(found.FLOPsPerSecond, d.FLOPsPerSecond)):
			return nil
		default:
			found = d
		}
	}
	return found
}
