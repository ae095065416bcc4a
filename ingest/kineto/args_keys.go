package kineto

import (
	"slices"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/intern"
)

// argument is the meaning of the key of an argument.
type argument uint8

const (
	argOther argument = iota // none
	argCorrelation
	argExternal
	argDevice
	argStream
	argBytes
	argSize
	argDims
	argTypes
	argConcrete
	argName
	argGroup
	argGroupSize
	argSequence
	argInElements
	argOutElements
	argDType
	argRank
	argSource
	argTarget
	argAutograd
	argForward
	argGeometry // one of geometry
	argGraph    // one of geometry, 0 for none
)

// geometry lists the arguments that say how a kernel was launched, which entries have among their
// attributes.
var geometry = [...]string{
	attrkey.Grid, attrkey.Block, attrkey.Registers, attrkey.SharedMemory, attrkey.Occupancy, attrkey.Graph, attrkey.GraphNode,
}

// argumentOf returns the meaning of a key.
func argumentOf(key string) argument {
	switch key {
	case "correlation":
		return argCorrelation
	case "External id", "external id":
		return argExternal
	case "device":
		return argDevice
	case "stream":
		return argStream
	case "bytes":
		return argBytes
	case "size":
		return argSize
	case "Input Dims", "Input dims":
		return argDims
	case "Input type":
		return argTypes
	case "Concrete Inputs":
		return argConcrete
	case "Collective name":
		return argName
	case "Process Group Name":
		return argGroup
	case "Group size":
		return argGroupSize
	case "Seq":
		return argSequence
	case "Sequence number":
		return argAutograd
	case "Fwd thread id":
		return argForward
	case "In msg nelems":
		return argInElements
	case "Out msg nelems":
		return argOutElements
	case "dtype":
		return argDType
	case "Rank":
		return argRank
	case "Src Rank":
		return argSource
	case "Dst Rank":
		return argTarget
	case attrkey.Graph, attrkey.GraphNode:
		return argGraph
	}
	if slices.Contains(geometry[:], key) {
		return argGeometry
	}
	return argOther
}

// argumentKey is what is known of a key.
type argumentKey struct {
	name     string
	argument argument
	wanted   bool // by the mapping, and not in geometry
}

// argumentKeys knows keys. It is a direct-mapped cache: a trace has a few dozen.
type argumentKeys struct {
	wants func(key string) bool
	slots [1 << keyBits]argumentKey
	other argumentKey
}

const (
	keyBits   = 9
	maxKeyLen = 64 // of keys that are held
)

// find returns what is known of a key, valid until the next call. "device" and those of geometry are keys
// of the mapping as well, but Kineto's meaning of them prevails.
func (k *argumentKeys) find(key []byte) *argumentKey {
	known := &k.other
	if 0 < len(key) && len(key) <= maxKeyLen {
		known = &k.slots[intern.Hash(key)>>(64-keyBits)]
		if known.name == string(key) {
			return known
		}
	}
	name := string(key)
	*known = argumentKey{name: name, argument: argumentOf(name)}
	known.wanted = name != "device" && known.argument != argGeometry && known.argument != argGraph && k.wants(name)
	return known
}
