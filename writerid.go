package optrace

import (
	"crypto/rand"
	"encoding/hex"
)

// newWriterID returns an id that no other exporter has, in this process or
// another, so that the sequence numbers of several writers to one file can be
// told apart.
func newWriterID() string {
	var id [6]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}
