package analyze

import (
	"cmp"
	"iter"
	"strings"

	"github.com/optrace/optrace/internal/natural"
	"github.com/optrace/optrace/op"
)

// UnknownDevice stands for the device of entries that do not name one.
const UnknownDevice = "unknown"

// DeviceKey identifies a device. Devices of the same name on different ranks
// are different devices, and so are those in different services where no rank is
// stated.
type DeviceKey struct {
	// Rank is unknown where the source states none.
	Rank op.Int `json:"rank"`
	// DeviceID is the device as recorded, or [UnknownDevice].
	DeviceID string `json:"device_id"`
	// Named is set for a device that is called [UnknownDevice].
	Named bool `json:"named,omitzero"`
	// Service is the service that the device belongs to, where several services
	// have a device of the name and state no rank; "" otherwise.
	Service string `json:"service,omitempty"`
	// Host is the host of the device, where one service has devices of the name on
	// several hosts and states no rank; "" otherwise.
	Host string `json:"host,omitempty"`
}

// deviceOf returns the key of the device that e ran on, with its service and host
// where these may tell it from others.
func deviceOf(e *op.Entry) DeviceKey {
	if !e.HasDevice() {
		return DeviceKey{Rank: e.Rank, DeviceID: UnknownDevice}
	}
	service, host := deviceSource(e)
	return DeviceKey{Rank: e.Rank, DeviceID: e.DeviceID, Named: e.DeviceID == UnknownDevice, Service: service, Host: host}
}

// deviceSource returns the service and the host of an entry that states no rank.
func deviceSource(e *op.Entry) (service, host string) {
	if e.Rank.Known {
		return "", ""
	}
	return e.Service, e.Host
}

// IsNone reports whether k stands for entries that name no device.
func (k DeviceKey) IsNone() bool { return k.DeviceID == UnknownDevice && !k.Named }

// appendTo appends k in a form that differs for different devices.
func (k DeviceKey) appendTo(dst []byte) []byte {
	dst = appendInt(dst, k.Rank)
	if k.IsNone() {
		return dst
	}
	return append(appendCounted(appendCounted(append(dst, '/'), k.Service), k.Host), k.DeviceID...)
}

// recorded returns the device as the entry had it.
func (k DeviceKey) recorded() (id string, empty bool) {
	if k.IsNone() {
		return "", false
	}
	return k.DeviceID, k.DeviceID == ""
}

// Label returns the device as people read it: "0/cuda:0" with its rank, and
// "cuda:0" where the rank is not known or withRank is false because there is
// only one; "trainer cuda:0" or "node-1 cuda:0" where the service or the host
// tells it from others.
func (k DeviceKey) Label(withRank bool) string {
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
func (k DeviceKey) Compare(other DeviceKey) int {
	switch {
	case k.Rank.Known != other.Rank.Known && k.Rank.Known:
		return 1
	case k.Rank.Known != other.Rank.Known:
		return -1
	}
	return cmp.Or(
		cmp.Compare(k.Rank.V, other.Rank.V), natural.Compare(k.DeviceID, other.DeviceID),
		compareFlag(k.Named, other.Named), strings.Compare(k.Service, other.Service), strings.Compare(k.Host, other.Host),
	)
}

// sharedDevices has the names of devices that stand for several where no rank is
// stated.
type sharedDevices map[string]sharing

// sharing says what tells the devices of one name apart: their services, or their
// hosts within a service.
type sharing struct{ services, hosts bool }

// findShared returns those of the devices, which have their services and hosts. A
// service or host that is not known is none of several.
func findShared(devices iter.Seq[DeviceKey]) sharedDevices {
	type source struct{ device, service string }
	services, hosts := make(map[string]string), make(map[source]string)
	shared := make(sharedDevices)
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

// key returns k without its service and host, unless these tell it from others.
func (s sharedDevices) key(k DeviceKey) DeviceKey {
	by := s[k.DeviceID]
	if !by.services {
		k.Service = ""
	}
	if !by.hosts {
		k.Host = ""
	}
	return k
}

// compareFlag orders false before true.
func compareFlag(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
