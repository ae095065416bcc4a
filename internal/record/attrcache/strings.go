package attrcache

// Strings is a direct-mapped cache of how strings with few distinct values are
// encoded, such as devices. It is used by one goroutine at a time.
type Strings struct{ slots [32]StringSlot }

// StringSlot holds a string, or "", and its encoding.
type StringSlot struct {
	Text    string
	Encoded []byte
}

const maxString = 64

// Slot returns the slot of s, which may hold another string and is then
// overwritten by the caller, or nil if s is empty or too long.
func (c *Strings) Slot(s string) *StringSlot {
	n := len(s)
	if n == 0 || n > maxString {
		return nil
	}
	// The names of devices differ in their last byte.
	return &c.slots[(uint(s[n-1])+uint(n)*5)%uint(len(c.slots))]
}
