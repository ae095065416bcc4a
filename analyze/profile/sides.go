package profile

import (
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// maxDepth is the depth of the profile for input without a device. Other entries with an open side have depth 1.
const maxDepth = 2

// of returns the profile for the sums of e: p, or one that is open in it if the side of e depends on the other entries.
func (p *Profile) of(e *op.Entry) *Profile {
	if e.Side != op.SideNone || e.EmptyDevice || !device.IsHost(e.DeviceID) || e.DeviceID == "" && e.Kind == op.KindCollective {
		return p
	}
	if e.DeviceID == "" && e.Kind == op.KindIO {
		return p.opened().opened()
	}
	return p.opened()
}

func (p *Profile) opened() *Profile {
	if p.open == nil {
		p.open = newProfile(p.opts)
		p.open.depth = p.depth + 1
	}
	p.open.at = p.at
	return p.open
}

// settled returns p with the entries of open profiles on their side: the host's if a host launches work of
// accelerators. Input without a device is the host's beside any accelerator.
func (p *Profile) settled() *Profile {
	if p.open == nil {
		return p
	}
	d := newProfile(p.opts)
	hasAccelerator := p.hasAccelerator()
	launches := p.Launches || p.open.Launches
	for of := p; of != nil; of = of.open {
		if of.depth == 0 || !hasAccelerator || !launches && of.depth < maxDepth {
			alone := *of
			alone.open = nil
			d.merge(&alone, 0)
		} else {
			d.mergeHost(of)
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

func (p *Profile) hasAccelerator() bool {
	for row, other := range p.devices.All() {
		if !other && device.IsAccelerator(row.DeviceID) {
			return true
		}
	}
	return false
}
