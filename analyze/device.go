package analyze

import (
	"cmp"
	"iter"
	"strings"

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
}

// deviceOf returns the key of the device that e ran on, with its service where
// that may tell it from others.
func deviceOf(e *op.Entry) DeviceKey {
	if !e.HasDevice() {
		return DeviceKey{Rank: e.Rank, DeviceID: UnknownDevice}
	}
	return DeviceKey{Rank: e.Rank, DeviceID: e.DeviceID, Named: e.DeviceID == UnknownDevice, Service: deviceService(e)}
}

// deviceService returns the service of an entry that states no rank.
func deviceService(e *op.Entry) string {
	if e.Rank.Known {
		return ""
	}
	return e.Service
}

// IsNone reports whether k stands for entries that name no device.
func (k DeviceKey) IsNone() bool { return k.DeviceID == UnknownDevice && !k.Named }

// recorded returns the device as the entry had it.
func (k DeviceKey) recorded() (id string, empty bool) {
	if k.IsNone() {
		return "", false
	}
	return k.DeviceID, k.DeviceID == ""
}

// Label returns the device as people read it: "0/cuda:0" with its rank, and
// "cuda:0" where the rank is not known or withRank is false because there is
// only one; "trainer cuda:0" where the service tells it from others.
func (k DeviceKey) Label(withRank bool) string {
	switch {
	case k.Service != "":
		return k.Service + " " + k.DeviceID
	case withRank && k.Rank.Known:
		return k.Rank.String() + "/" + k.DeviceID
	}
	return k.DeviceID
}

// Compare orders devices by rank, an unknown rank first, then by name and by
// service.
func (k DeviceKey) Compare(other DeviceKey) int {
	switch {
	case k.Rank.Known != other.Rank.Known && k.Rank.Known:
		return 1
	case k.Rank.Known != other.Rank.Known:
		return -1
	}
	return cmp.Or(
		cmp.Compare(k.Rank.V, other.Rank.V), strings.Compare(k.DeviceID, other.DeviceID),
		compareFlag(k.Named, other.Named), strings.Compare(k.Service, other.Service),
	)
}

// sharedDevices holds the names of devices that several services have without
// stating a rank.
type sharedDevices map[string]struct{}

// findShared returns those of the devices, which have their services. A service
// that is not known is none of several.
func findShared(devices iter.Seq[DeviceKey]) sharedDevices {
	services := make(map[string]string)
	shared := make(sharedDevices)
	for k := range devices {
		if k.Service == "" {
			continue
		}
		if first, ok := services[k.DeviceID]; ok && first != k.Service {
			shared[k.DeviceID] = struct{}{}
		}
		services[k.DeviceID] = k.Service
	}
	return shared
}

// key returns k without its service, unless that tells it from others.
func (s sharedDevices) key(k DeviceKey) DeviceKey {
	if _, ok := s[k.DeviceID]; !ok {
		k.Service = ""
	}
	return k
}
