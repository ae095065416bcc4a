package optrace

// textCache remembers how texts of which there are few, such as devices, are
// encoded: finding and copying that takes a quarter of checking and encoding
// them anew. Texts that share a slot push each other out. It is used by one
// goroutine at a time.
type textCache struct{ slots [32]textSlot }

// textSlot holds a text, or "", and how it is encoded.
type textSlot struct {
	text    string
	encoded []byte
}

// maxTextCached is the longest text that is remembered, in bytes.
const maxTextCached = 64

// slot returns the slot of a text, which may hold another one that then makes
// room, or nil for a text that is empty or too long to be remembered.
func (c *textCache) slot(text string) *textSlot {
	n := len(text)
	if n == 0 || n > maxTextCached {
		return nil
	}
	// Devices differ in their last byte.
	return &c.slots[(uint(text[n-1])+uint(n)*5)%uint(len(c.slots))]
}
