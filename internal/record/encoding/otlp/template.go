package otlp

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/record/attrcache"
)

// template is the encoding of an operation's name and attributes: before, between and behind the varying attributes.
type template struct {
	name    string
	fixed   [4]string
	varying attrcache.Varying
}

func (k *template) appendAttributes(
	dst []byte, attrs []attribute.KeyValue, codec codec, devices *attrcache.Strings,
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

func (k *template) appendVarying(
	dst []byte, attrs []attribute.KeyValue, at int, codec codec, devices *attrcache.Strings,
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
		slot.Text = device
		slot.Encoded = codec.spanAttributes(slot.Encoded[:0], attrs[at:at+1])
	}
	return append(dst, slot.Encoded...)
}
