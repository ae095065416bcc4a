package otlp

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/attrcache"
)

// template is the encoding of the name and the attributes of an operation: of
// those before, between and after the varying attributes.
type template struct {
	name    string
	fixed   [4]string
	varying attrcache.Varying
}

// maxTemplate is the longest encoding that is made a template, in bytes.
const maxTemplate = 2 << 10

// remember adds the template of an operation to the cache.
func (c *encoder) remember(k *attrcache.Key) {
	// One string for all parts: this takes fewer cache misses.
	b := c.codec.nameField(c.scratch[:0], k.Name)
	var ends [5]int
	ends[0] = len(b)
	for i, attrs := range k.Fixed() {
		b = c.codec.spanAttributes(b, attrs)
		ends[i+1] = len(b)
	}
	c.scratch = b
	if len(b) > maxTemplate {
		return
	}
	text := string(b)
	c.cache.Add(k, template{
		name:    text[:ends[0]],
		fixed:   [4]string{text[ends[0]:ends[1]], text[ends[1]:ends[2]], text[ends[2]:ends[3]], text[ends[3]:]},
		varying: k.Varying,
	}, len(text))
}

// spanAttributeCodec is the part of a codec that a template needs.
type spanAttributeCodec interface {
	spanAttributes(dst []byte, attrs []attribute.KeyValue) []byte
}

// appendAttributes appends attrs in the encoding of codec.
func (k *template) appendAttributes(
	dst []byte, attrs []attribute.KeyValue, codec spanAttributeCodec, devices *attrcache.Strings,
) []byte {
	dst = append(dst, k.fixed[0]...)
	for i, at := range k.varying.Sorted(len(attrs)) {
		if at == len(attrs) {
			break
		}
		dst = append(k.appendVarying(dst, attrs, at, codec, devices), k.fixed[i+1]...)
	}
	return dst
}

// appendVarying appends the varying attribute at an index.
func (k *template) appendVarying(
	dst []byte, attrs []attribute.KeyValue, at int, codec spanAttributeCodec, devices *attrcache.Strings,
) []byte {
	if at != k.varying.Device {
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
