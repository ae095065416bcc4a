package arrow

// The limits of what is held in memory at a time. A file states the sizes of its
// parts, and these are what is believed.
const (
	// MaxMetadataBytes is the largest metadata of a message, or footer.
	MaxMetadataBytes = 64 << 20
	// MaxBodyBytes is the largest body of a message.
	MaxBodyBytes = 1 << 30
	// MaxHeldBytes bounds the dictionaries in effect, as they are stored.
	MaxHeldBytes = 1 << 30
	// MaxBufferBytes is the largest buffer of a column, decompressed.
	MaxBufferBytes = 256 << 20
	// MaxTextBytes is the longest text.
	MaxTextBytes = 16 << 20
	// MaxListElements is how many elements a list may have.
	MaxListElements = 1 << 20
	// MaxMessages is how many messages a file may have that is shared among
	// goroutines.
	MaxMessages = 1 << 22
)

// How many values an array may have that a message claims: some, and a number for
// each byte of the message, which may be compressed.
const (
	freeValues       = 1 << 16
	maxValuesPerByte = 2048
)
