package optrace

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/attrcache"
)

// knownSpan is how the name and the attributes of an operation are encoded, but
// for the loose attributes, which stand between those before and those behind
// them. Copying this costs a quarter of encoding it.
type knownSpan struct {
	name  string
	fixed [3]string
	loose attrcache.Varying
}

// maxKnownBytes is the longest encoding that is remembered. A longer one is made
// twice, but that is the exception.
const maxKnownBytes = 2 << 10

// remember encodes an operation for the next time.
func (c *otlpEncoder) remember(k *attrcache.Key) {
	// All in one piece of memory, which takes fewer cache misses than four.
	b := c.codec.nameField(c.scratch[:0], k.Name)
	var ends [4]int
	ends[0] = len(b)
	for i, attrs := range k.Fixed() {
		b = c.codec.spanAttributes(b, attrs)
		ends[i+1] = len(b)
	}
	c.scratch = b
	if len(b) > maxKnownBytes {
		return
	}
	text := string(b)
	c.memo.Add(k, knownSpan{
		name:  text[:ends[0]],
		fixed: [3]string{text[ends[0]:ends[1]], text[ends[1]:ends[2]], text[ends[2]:]},
		loose: k.Varying,
	}, len(text))
}

// spanAttributeCodec is the part of a codec that knownSpan needs.
type spanAttributeCodec interface {
	spanAttributes(dst []byte, attrs []attribute.KeyValue) []byte
}

// appendAttributes appends attrs as codec encodes them, whose devices it keeps.
func (k *knownSpan) appendAttributes(dst []byte, attrs []attribute.KeyValue, codec spanAttributeCodec, devices *attrcache.Strings) []byte {
	first, second := k.loose.Sorted(len(attrs))
	dst = append(dst, k.fixed[0]...)
	if first < len(attrs) {
		dst = k.appendLoose(dst, attrs, first, codec, devices)
	}
	dst = append(dst, k.fixed[1]...)
	if second < len(attrs) {
		dst = k.appendLoose(dst, attrs, second, codec, devices)
	}
	return append(dst, k.fixed[2]...)
}

// appendLoose appends the loose attribute at a place.
func (k *knownSpan) appendLoose(dst []byte, attrs []attribute.KeyValue, at int, codec spanAttributeCodec, devices *attrcache.Strings) []byte {
	if at != k.loose.Device {
		return codec.spanAttributes(dst, attrs[at:at+1])
	}
	device := attrs[at].Value.AsString()
	slot := devices.Slot(device)
	if slot == nil {
		return codec.spanAttributes(dst, attrs[at:at+1])
	}
	if slot.Text != device {
		slot.Text, slot.Encoded = device, codec.spanAttributes(slot.Encoded[:0], attrs[at:at+1])
	}
	return append(dst, slot.Encoded...)
}
