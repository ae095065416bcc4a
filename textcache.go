package optrace

// textCache remembers how texts of which there are few, such as devices, are
// encoded: finding and copying that takes a quarter of checking and encoding
// them anew. Texts that share a slot push each other out. It is used by one
// goroutine at a time.
type textCache struct {
	slots [32]struct {
		text    string
		encoded []byte
	}
}

// maxTextCached is the longest text that is remembered, in bytes.
const maxTextCached = 64

// get returns how text is encoded, as encode does it where that is not known. The
// bytes are valid until the next call.
func (c *textCache) get(text string, encode func(dst []byte, text string) []byte) []byte {
	n := len(text)
	if n == 0 || n > maxTextCached {
		return encode(nil, text)
	}
	// Devices differ in their last byte.
	slot := &c.slots[(uint(text[n-1])+uint(n)*5)%uint(len(c.slots))]
	if slot.text != text {
		slot.encoded = encode(slot.encoded[:0], text)
		slot.text = text
	}
	return slot.encoded
}
