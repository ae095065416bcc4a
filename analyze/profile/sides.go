package profile

import (
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// of returns the profile for the sums of e: p, or p.open if the side of e depends on the other entries.
func (p *Profile) of(e *op.Entry) *Profile {
	if e.Side != op.SideNone || e.EmptyDevice || !device.IsHost(e.DeviceID) || e.DeviceID == "" && e.Kind == op.KindCollective {
		return p
	}
	if p.open == nil {
		p.open = newProfile(p.opts)
	}
	p.open.at = p.at
	return p.open
}

// settled returns p with the entries of p.open on their side: the host's if a host launches work of accelerators.
func (p *Profile) settled() *Profile {
	if p.open == nil {
		return p
	}
	d := newProfile(p.opts)
	rest := *p
	rest.open = nil
	d.merge(&rest, 0)
	if !p.open.Launches && !p.Launches || !p.hasAccelerator() {
		d.merge(p.open, 0)
		return d
	}
	const host = int(op.SideHost)
	d.Weighted += p.open.Weighted
	d.operations[host].Merge(p.open.operations[0], (*operationRow).init)
	d.groups[host].Merge(p.open.groups[0], (*groupRow).init)
	for row, other := range p.open.errors.rows.All() {
		if other {
			row.Text = key.Other
		}
		dst, _ := d.errors.rows.Row(appendErrorKey(nil, op.SideHost.String(), row.Operation, row.Text))
		dst.Value.Text = row.Text
		dst.Value.Operation = row.Operation
		dst.Value.Side = op.SideHost.String()
		dst.Value.fold(row)
	}
	return d
}

func (p *Profile) hasAccelerator() bool {
	for row, other := range p.devices.All() {
		if !other && device.IsAccelerator(row.DeviceID) {
			return true
		}
	}
	return false
}
