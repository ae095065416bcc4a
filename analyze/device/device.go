package device

import (
	"cmp"
	"iter"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/internal/text/natural"
	"github.com/optrace/optrace/op"
)

// Unknown stands for the device of entries that do not name one.
const Unknown = key.Unknown

// Key identifies a device. Devices of the same name on different ranks
// are different devices, and so are those in different services where no rank is
// stated.
type Key struct {
	// Rank is unknown where the source states none.
	Rank op.Int `json:"rank"`
	// DeviceID is the device as recorded, or [Unknown].
	DeviceID string `json:"device_id"`
	// Named is set for a device that is called [Unknown].
	Named bool `json:"named,omitzero"`
	// Service is the service that the device belongs to, where several services
	// have a device of the name and state no rank; "" otherwise.
	Service string `json:"service,omitempty"`
	// Host is the host of the device, where one service has devices of the name on
	// several hosts and states no rank; "" otherwise.
	Host string `json:"host,omitempty"`
}

// Of returns the key of the device that e ran on, with its service and host
// where these may tell it from others.
func Of(e *op.Entry) Key {
	if !e.HasDevice() {
		return Key{Rank: e.Rank, DeviceID: Unknown}
	}
	service, host := Source(e)
	return Key{Rank: e.Rank, DeviceID: e.DeviceID, Named: e.DeviceID == Unknown, Service: service, Host: host}
}

// Source returns the service and the host of an entry that states no rank.
func Source(e *op.Entry) (service, host string) {
	if e.Rank.Known {
		return "", ""
	}
	return e.Service, e.Host
}

// IsNone reports whether k stands for entries that name no device.
func (k Key) IsNone() bool { return k.DeviceID == Unknown && !k.Named }

// AppendTo appends k in a form that differs for different devices.
func (k Key) AppendTo(dst []byte) []byte {
	dst = key.AppendInt(dst, k.Rank)
	if k.IsNone() {
		return dst
	}
	return append(key.AppendCounted(key.AppendCounted(append(dst, '/'), k.Service), k.Host), k.DeviceID...)
}

// Recorded returns the device as the entry had it.
func (k Key) Recorded() (id string, empty bool) {
	if k.IsNone() {
		return "", false
	}
	return k.DeviceID, k.DeviceID == ""
}

// Label returns the device as people read it: "0/cuda:0" with its rank, and
// "cuda:0" where the rank is not known or withRank is false because there is
// only one; "trainer cuda:0" or "node-1 cuda:0" where the service or the host
// tells it from others.
func (k Key) Label(withRank bool) string {
	switch {
	case k.Service != "" && k.Host != "":
		return k.Service + " " + k.Host + " " + k.DeviceID
	case k.Service != "" || k.Host != "":
		return k.Service + k.Host + " " + k.DeviceID
	case withRank && k.Rank.Known:
		return k.Rank.String() + "/" + k.DeviceID
	}
	return k.DeviceID
}

// Compare orders devices by rank, an unknown rank first, then by name, with numbers by
// their value, service and host.
func (k Key) Compare(other Key) int {
	return cmp.Or(
		order.Ints(k.Rank, other.Rank), natural.Compare(k.DeviceID, other.DeviceID),
		order.Flags(k.Named, other.Named), strings.Compare(k.Service, other.Service), strings.Compare(k.Host, other.Host),
	)
}

// Shared has the names of devices that stand for several where no rank is
// stated.
type Shared map[string]sharing

// sharing says what tells the devices of one name apart: their services, or their
// hosts within a service.
type sharing struct{ services, hosts bool }

// FindShared returns those of the devices, which have their services and hosts. A
// service or host that is not known is none of several.
func FindShared(devices iter.Seq[Key]) Shared {
	type source struct{ device, service string }
	services := make(map[string]string)
	hosts := make(map[source]string)
	shared := make(Shared)
	for k := range devices {
		by := shared[k.DeviceID]
		if k.Service != "" {
			first, ok := services[k.DeviceID]
			by.services = by.services || ok && first != k.Service
			services[k.DeviceID] = k.Service
		}
		if k.Host != "" {
			at := source{k.DeviceID, k.Service}
			first, ok := hosts[at]
			by.hosts = by.hosts || ok && first != k.Host
			hosts[at] = k.Host
		}
		if by != (sharing{}) {
			shared[k.DeviceID] = by
		}
	}
	return shared
}

// Key returns k without its service and host, unless these tell it from others.
func (s Shared) Key(k Key) Key {
	by := s[k.DeviceID]
	if !by.services {
		k.Service = ""
	}
	if !by.hosts {
		k.Host = ""
	}
	return k
}
