package otlp

// The limits of what is held in memory at a time.
const (
	// MaxElementBytes is the longest span, resource or scope in JSON, and how far is read ahead for a resource or scope
	// that follows its spans. Every known writer puts it in front.
	MaxElementBytes = 16 << 20
	// MaxMessageBytes is the largest frame. The Collector's receivers refuse requests of a fraction of that.
	MaxMessageBytes = 64 << 20
	// MaxFrameBytes is the largest frame after decompression, and the largest ResourceSpans of a message that is not
	// framed.
	MaxFrameBytes = 256 << 20
)
