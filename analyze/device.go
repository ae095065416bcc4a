package analyze

import (
	"cmp"
	"strings"

	"github.com/optrace/optrace/op"
)

// UnknownDevice stands for the device of entries that do not name one.
const UnknownDevice = "unknown"

// DeviceKey identifies a device. Devices of the same name on different ranks
// are different devices.
type DeviceKey struct {
	// Rank is unknown where the source states none.
	Rank op.Int `json:"rank"`
	// DeviceID is the device as recorded, or [UnknownDevice].
	DeviceID string `json:"device_id"`
	// Named is set for a device that is called [UnknownDevice].
	Named bool `json:"named,omitzero"`
}

// DeviceOf returns the key of the device that e ran on.
func deviceOf(e *op.Entry) DeviceKey {
	if !e.HasDevice() {
		return DeviceKey{Rank: e.Rank, DeviceID: UnknownDevice}
	}
	return DeviceKey{Rank: e.Rank, DeviceID: e.DeviceID, Named: e.DeviceID == UnknownDevice}
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
// only one.
func (k DeviceKey) Label(withRank bool) string {
	if !withRank || !k.Rank.Known {
		return k.DeviceID
	}
	return k.Rank.String() + "/" + k.DeviceID
}

// Compare orders devices by rank, an unknown rank first, and then by name.
func (k DeviceKey) Compare(other DeviceKey) int {
	switch {
	case k.Rank.Known != other.Rank.Known && k.Rank.Known:
		return 1
	case k.Rank.Known != other.Rank.Known:
		return -1
	}
	order := cmp.Or(cmp.Compare(k.Rank.V, other.Rank.V), strings.Compare(k.DeviceID, other.DeviceID))
	switch {
	case order != 0 || k.Named == other.Named:
		return order
	case k.Named:
		return 1
	}
	return -1
}
