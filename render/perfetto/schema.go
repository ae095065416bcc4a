package perfetto

import "github.com/optrace/optrace/render/internal/wire"

type message = wire.Message

// The values of enums.
const (
	clockRealtime = 1
	clockBoottime = 6 // the clock of a trace

	stateCleared = int32(1)
	needsState   = int32(2)

	orderExplicit = int32(3)
	unitBytes     = int32(3)

	nestedArray = int32(2)

	typeBegin   = int32(1)
	typeEnd     = int32(2)
	typeInstant = int32(3)
	typeCounter = int32(4)
)
