package perfetto

// The limits of what is held in memory at a time.
const (
	// MaxPacketBytes is the largest packet. A larger one is passed over and reported.
	MaxPacketBytes = 16 << 20
	// MaxAnnotationBytes bounds the annotations of a slice as text: interned names can make that long.
	MaxAnnotationBytes = 16 << 20
	// MaxCompressedBytes is how much the packets in a compressed packet may expand to. The schema has 512 KiB.
	MaxCompressedBytes = 16 << 20
)

// maxDepth bounds how deep annotations are looked into. What is deeper is not known.
const maxDepth = 32

// maxParents bounds how many tracks above another are looked at for its process.
const maxParents = 16
