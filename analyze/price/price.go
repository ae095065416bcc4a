// Package price reads the hourly prices and the power of devices from a JSON file. Package correlate
// computes the prices of requests from them.
//
//	{
//	  "currency": "USD",
//	  "tenant": "app.customer",
//	  "devices": [
//	    {"match": "cuda:*", "per_hour": 2.5, "watts": 700},
//	    {"match": "cpu*", "per_hour": 0.05}
//	  ]
//	}
//
// The first matching device counts.
package price

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/optrace/optrace/analyze/internal/pattern"
	"github.com/optrace/optrace/internal/model/attrkey"
)

// Table holds the prices of devices.
type Table struct {
	// Currency is the unit of prices; "" for none.
	Currency string
	// Tenant is the request attribute with the tenant: tenant.id unless the file names another.
	Tenant  string
	Devices []Device
}

// Device holds the price of devices with matching ids.
type Device struct {
	// Match is a pattern of device ids; * stands for any text, and "" matches all.
	Match string `json:"match"`
	// PerHour is the price of one device for an hour. Watts is its power, 0 if unknown.
	PerHour float64 `json:"per_hour"`
	Watts   float64 `json:"watts,omitzero"`
}

// Find returns the index in Devices of the entry for a device id, -1 if there is no entry.
func (t *Table) Find(id string) int {
	for i := range t.Devices {
		if d := &t.Devices[i]; d.Match == "" || pattern.Matches(d.Match, id) {
			return i
		}
	}
	return -1
}

// Parse reads a table from JSON. Errors name the line.
func Parse(text []byte) (*Table, error) {
	t := &Table{Tenant: attrkey.Tenant}
	of := struct {
		Currency *string           `json:"currency"`
		Tenant   *string           `json:"tenant"`
		Devices  []json.RawMessage `json:"devices"`
	}{Currency: &t.Currency, Tenant: &t.Tenant}
	if at, err := decode(text, &of); err != nil {
		return nil, syntaxError(text, at, err)
	}
	from := 0
	for _, device := range of.Devices { // in text order
		var d Device
		from += bytes.Index(text[from:], device)
		at, err := decode(device, &d)
		if err == nil {
			err = d.check()
		}
		if err != nil {
			return nil, syntaxError(text, from+at, err)
		}
		t.Devices = append(t.Devices, d)
		from += len(device)
	}
	if len(t.Devices) == 0 {
		return nil, syntaxError(text, 0, errors.New("no devices"))
	}
	return t, nil
}

func (d *Device) check() error {
	const most = 1e9
	switch {
	case !(d.PerHour >= 0 && d.PerHour <= most):
		return fmt.Errorf("per_hour is %g", d.PerHour)
	case !(d.Watts >= 0 && d.Watts <= most):
		return fmt.Errorf("watts is %g", d.Watts)
	case d.PerHour+d.Watts == 0:
		return errors.New("a device has neither per_hour nor watts")
	}
	return nil
}

// decode reads the single value in text. at is the offset of an error.
func decode(text []byte, to any) (at int, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err = dec.Decode(to)
	if err == nil && dec.More() {
		return int(dec.InputOffset()), errors.New("unexpected text after the object")
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = int(syntax.Offset)
	} else if typ, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at = int(typ.Offset)
		err = fmt.Errorf("%s has the wrong type: %s", cmp.Or(typ.Field, "the text"), typ.Value)
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		at = len(text)
		err = errors.New("incomplete object")
	} else if err != nil { // an unknown field, named in the error
		_, name, _ := strings.Cut(err.Error(), "unknown field ")
		at = max(0, bytes.Index(text, []byte(name)))
	}
	return at, err
}

func syntaxError(text []byte, at int, err error) error {
	return fmt.Errorf("reading prices: line %d: %w", 1+bytes.Count(text[:min(at, len(text))], []byte("\n")), err)
}
