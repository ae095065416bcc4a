package optrace

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/op"
)

// looseAttributes are the places of attributes that take no part in comparing
// sets, as they change where all else repeats: the iteration from one run of a
// graph to the next, the device from one replica to the next. With eight devices
// this makes eight times fewer sets, which then stay in the processor's cache.
// A place is negative where the attribute is not there, or not as it should be.
type looseAttributes struct{ step, device int }

// The values of a place that there is not.
const (
	placeNone = -1
	placeBad  = -2
)

// noLoose is for those to whom an iteration or a device may mean something else.
var noLoose = looseAttributes{placeNone, placeNone}

// findLoose returns the loose ones of attributes: an iteration that is an integer
// and a device that is a text.
func findLoose(attrs []attribute.KeyValue) looseAttributes {
	l := noLoose
	for i := range attrs {
		switch kv := &attrs[i]; kv.Key {
		case op.KeyStep:
			l.step = onlyPlace(l.step, i, kv.Value.Type() == attribute.INT64)
		case op.KeyDevice:
			l.device = onlyPlace(l.device, i, kv.Value.Type() == attribute.STRING)
		}
	}
	return l
}

// onlyPlace returns the place of an attribute found at i, where it was at place
// before: of two with one key neither is loose.
func onlyPlace(place, i int, good bool) int {
	if place == placeNone && good {
		return i
	}
	return placeBad
}

// sorted returns the two places in order; n, the number of attributes, stands for
// one that there is not.
func (l looseAttributes) sorted(n int) (first, second int) {
	first, second = l.step, l.device
	if first < 0 {
		first = n
	}
	if second < 0 {
		second = n
	}
	return min(first, second), max(first, second)
}
