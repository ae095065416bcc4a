package profile

import (
	"cmp"
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// openKey divides the entries whose side depends on the others: by the process they are of, and input without a device.
type openKey struct {
	Service, Host string // "" if not known
	Input         bool
}

func (k openKey) compare(other openKey) int {
	return cmp.Or(cmp.Compare(k.Service, other.Service), cmp.Compare(k.Host, other.Host), order.Flags(k.Input, other.Input))
}

// maxOpen bounds the processes of open entries. Further ones share the unknown one.
const maxOpen = 256

// of returns the profile for the sums of e: p, or one that is open in it if the side of e depends on the other entries.
func (p *Profile) of(e *op.Entry) *Profile {
	if e.Side != op.SideNone || e.EmptyDevice || !device.IsHost(e.DeviceID) || e.DeviceID == "" && e.Kind == op.KindCollective {
		return p
	}
	service, host := device.Source(e)
	if !e.HasDevice() {
		host = "" // as in structures
	}
	return p.opened(openKey{service, host, e.DeviceID == "" && e.Kind == op.KindIO})
}

// opened returns the open profile of k.
func (p *Profile) opened(k openKey) *Profile {
	if p.lastOpen == nil || p.lastKey != k {
		of := p.open[k]
		if of == nil && len(p.open) >= maxOpen {
			k.Service, k.Host = "", ""
			of = p.open[k]
		}
		if of == nil {
			of = newProfile(p.opts)
			if p.open == nil {
				p.open = make(map[openKey]*Profile)
			}
			p.open[k] = of
		}
		p.lastKey, p.lastOpen = k, of
	}
	p.lastOpen.at = p.at
	return p.lastOpen
}

// openKeys returns the keys of open profiles in order.
func (p *Profile) openKeys() []openKey { return slices.SortedFunc(maps.Keys(p.open), openKey.compare) }

// settled returns p with the entries of open profiles on their side: the host's if their process has an accelerator, and
// a host launches work of accelerators. Input without a device is the host's beside any accelerator.
func (p *Profile) settled() *Profile {
	if len(p.open) == 0 {
		return p
	}
	alone := *p
	alone.open = nil
	d := newProfile(p.opts)
	d.merge(&alone, 0)
	launches := p.Launches
	for _, of := range p.open {
		launches = launches || of.Launches
	}
	var beside device.Sources
	for row, other := range p.devices.All() {
		if !other && device.IsAccelerator(row.DeviceID) {
			beside.Add(row.Service, row.Host)
		}
	}
	for _, k := range p.openKeys() {
		if of := p.open[k]; (launches || k.Input) && beside.Has(k.Service, k.Host) {
			d.mergeHost(of)
		} else {
			d.merge(of, 0)
		}
	}
	return d
}

// mergeHost adds the sums of o as the host's.
func (p *Profile) mergeHost(o *Profile) {
	const host = int(op.SideHost)
	p.Weighted += o.Weighted
	p.operations[host].Merge(o.operations[0], (*operationRow).init)
	p.groups[host].Merge(o.groups[0], (*groupRow).init)
	for row, other := range o.errors.rows.All() {
		if other {
			row.Text = key.Other
		}
		dst, _ := p.errors.rows.Row(appendErrorKey(nil, op.SideHost.String(), row.Operation, row.Text))
		dst.Value.Text = row.Text
		dst.Value.Operation = row.Operation
		dst.Value.Side = op.SideHost.String()
		dst.Value.fold(row)
	}
}
