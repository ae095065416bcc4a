package op

// Pruned tells of operations that were kept out of a service trace because
// they were short: how many there were of one name on one device below a local
// root, and how long they took together. Local batches hold them one by one.
type Pruned struct {
	// TraceID and SpanID are those of the local root.
	TraceID TraceID
	SpanID  SpanID
	// Operation and DeviceID are as in an [Entry]. Operation is [PrunedOthers]
	// for what went beyond the summary's bounds.
	Operation string
	DeviceID  string
	// Count is how many, Duration the sum of their durations in nanoseconds.
	Count    int64
	Duration int64
}

// The event on a local root that carries a [Pruned]: its name, and the
// attributes in addition to [KeyName] and [KeyDevice].
const (
	EventPruned       = "tensor.ops.pruned"
	KeyPrunedCount    = "tensor.ops.pruned.count"
	KeyPrunedDuration = "tensor.ops.pruned.duration"
)

// PrunedOthers stands for the operations that a summary does not tell apart.
const PrunedOthers = "(other)"
