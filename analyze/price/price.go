// Package price tells what an hour of a device costs and how much power it takes, from a JSON file. Package correlate
// makes the prices of requests of it.
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
// The first device whose pattern matches an id counts.
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

// Table has the prices of devices.
type Table struct {
	// Currency is what prices are in, as it is written behind them; "" for none.
	Currency string
	// Tenant is the attribute of a request that says for whom it is worked; tenant.id unless the file names another.
	Tenant  string
	Devices []Device
}

// Device has the price of the devices whose ids match a pattern.
type Device struct {
	// Match is a pattern of device ids, in which * stands for any text; "" matches all.
	Match string `json:"match"`
	// PerHour is what an hour of one device costs, and Watts how much power it takes, 0 where that is not known.
	PerHour float64 `json:"per_hour"`
	Watts   float64 `json:"watts,omitzero"`
}

// Find returns the number of the entry for the device with an id, -1 where it has none.
func (t *Table) Find(id string) int {
	for i := range t.Devices {
		if d := &t.Devices[i]; d.Match == "" || pattern.Matches(d.Match, id) {
			return i
		}
	}
	return -1
}

// Parse reads the JSON of a table. Its errors name the line.
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
	for _, device := range of.Devices { // in the order of the text
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
		return nil, syntaxError(text, 0, errors.New("there are no devices"))
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

// decode reads the one value of a text, and returns where it is wrong.
func decode(text []byte, to any) (at int, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err = dec.Decode(to)
	if err == nil && dec.More() {
		return int(dec.InputOffset()), errors.New("there is something behind the object")
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = int(syntax.Offset)
	} else if typ, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at, err = int(typ.Offset), fmt.Errorf("%s has the wrong type: %s", cmp.Or(typ.Field, "the text"), typ.Value)
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		at, err = len(text), errors.New("the object is not complete")
	} else if err != nil { // an unknown field, which it names
		_, name, _ := strings.Cut(err.Error(), "unknown field ")
		at = max(0, bytes.Index(text, []byte(name)))
	}
	return at, err
}

func syntaxError(text []byte, at int, err error) error {
	return fmt.Errorf("reading prices: line %d: %w", 1+bytes.Count(text[:min(at, len(text))], []byte("\n")), err)
}
