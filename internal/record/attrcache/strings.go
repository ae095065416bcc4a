package attrcache

// Strings is a direct-mapped cache of encoded strings, such as devices. It is not safe for concurrent use.
type Strings struct{ slots [32]StringSlot }

// StringSlot holds a string, or "", and its encoding.
type StringSlot struct {
	Text    string
	Encoded []byte
}

const maxString = 64

// Slot returns the slot of s, nil if s is empty or too long. The caller overwrites another string in it.
func (c *Strings) Slot(s string) *StringSlot {
	n := len(s)
	if n == 0 || n > maxString {
		return nil
	}
	// The names of devices differ in their last byte.
	return &c.slots[(uint(s[n-1])+uint(n)*5)%uint(len(c.slots))]
}
