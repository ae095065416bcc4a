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

// Unknown is the DeviceID of entries without a device.
const Unknown = key.Unknown

// Key identifies a device. Devices of one name are distinct on different ranks, and in different services without
// a stated rank.
type Key struct {
	// Rank is unknown if the source states none.
	Rank op.Int `json:"rank"`
	// DeviceID is the recorded device, or [Unknown].
	DeviceID string `json:"device_id"`
	// Named is set for a device called [Unknown].
	Named bool `json:"named,omitzero"`
	// Service is the device's service if several services have a device of this name without a rank; "" otherwise.
	Service string `json:"service,omitempty"`
	// Host is the device's host if one service has devices of this name on several hosts without a rank; "" otherwise.
	Host string `json:"host,omitempty"`
}

// Of returns the key of e's device, with service and host if e has no rank.
func Of(e *op.Entry) Key {
	if !e.HasDevice() {
		return Key{Rank: e.Rank, DeviceID: Unknown}
	}
	service, host := Source(e)
	return Key{Rank: e.Rank, DeviceID: e.DeviceID, Named: e.DeviceID == Unknown, Service: service, Host: host}
}

// Source returns the service and host of an entry without a rank, and "" with a rank.
func Source(e *op.Entry) (service, host string) {
	if e.Rank.Known {
		return "", ""
	}
	return e.Service, e.Host
}

// IsNone reports whether k stands for entries without a device.
func (k Key) IsNone() bool { return k.DeviceID == Unknown && !k.Named }

// AppendTo appends k in an injective encoding.
func (k Key) AppendTo(dst []byte) []byte {
	dst = key.AppendInt(dst, k.Rank)
	if k.IsNone() {
		return dst
	}
	return append(key.AppendCounted(key.AppendCounted(append(dst, '/'), k.Service), k.Host), k.DeviceID...)
}

// Recorded returns the device as in the entry.
func (k Key) Recorded() (id string, empty bool) {
	if k.IsNone() {
		return "", false
	}
	return k.DeviceID, k.DeviceID == ""
}

// Label returns the device for display: "0/cuda:0" with its rank, or "cuda:0" if the rank is unknown or withRank is
// false. A distinguishing service or host precedes it, as in "trainer cuda:0" or "node-1 cuda:0".
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

// Compare orders devices by rank, unknown ranks first, then by name in natural order, service and host.
func (k Key) Compare(other Key) int {
	return cmp.Or(
		order.Ints(k.Rank, other.Rank), natural.Compare(k.DeviceID, other.DeviceID),
		order.Flags(k.Named, other.Named), strings.Compare(k.Service, other.Service),
		strings.Compare(k.Host, other.Host),
	)
}

// Shared holds the device names that stand for several devices without ranks.
type Shared map[string]sharing

// sharing tells how devices of one name differ: by service, or by host within a service.
type sharing struct{ services, hosts bool }

// FindShared returns the shared names among devices, whose keys include services and hosts. An unknown service or host
// does not make a name shared.
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

// Key returns k without its service and host unless they distinguish devices of its name.
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
