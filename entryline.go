package optrace

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/optrace/optrace/internal/attrcache"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// entryLine is the line of an operation, cut where it holds what differs from one
// span to the next with the same attributes, name, scope and resource: the
// iteration, the device, the times, the ids and the root. Filling them in costs a
// sixth of converting and encoding the span.
type entryLine struct {
	toDevice string // from the start, or from behind an iteration that is loose
	toMicros string // from behind a device that is loose, or else as toDevice
	toStart  string // from behind the duration in microseconds
	toIDs    string // from behind the duration in nanoseconds
	toEnd    string // from behind the ids and the root
}

// What stands in front of the parts that are cut out.
const (
	lineStep     = `{"step":`
	lineDevice   = `,"device_id":`
	lineMicros   = `,"duration_us":`
	lineStart    = `,"start_unix_ns":`
	lineDuration = `,"duration_ns":`
	lineTraceID  = `,"trace_id":"`
	lineSpanID   = `","span_id":"`
	lineParentID = `,"parent_span_id":"`
	lineRoot     = `,"root":`
	lineRootID   = `,"root_span_id":"`
)

// plainSpan is what a line is filled in with besides what the view says.
type plainSpan struct {
	loose                  attrcache.Varying
	device                 []byte // encoded
	second, nano, duration int64  // the start in two parts; the others in ns
}

// lineFiller fills lines in. It remembers the texts of what seldom changes from
// one span to the next. It is used by one goroutine at a time.
type lineFiller struct {
	// timeText holds the digits of second, nine for the nanoseconds, and what
	// stands between them and the duration.
	second   int64
	timeText []byte

	// idText holds the ids, that of the span at spanIDAt, and the root.
	traceID  op.TraceID
	parentID op.SpanID
	root     root
	idText   []byte

	devices attrcache.Strings
}

// device returns a device as a JSON string, nothing where it is empty, not valid
// text, or too long to be remembered. It is valid until the next call.
func (f *lineFiller) device(name string) []byte {
	slot := f.devices.Slot(name)
	if slot == nil {
		return nil
	}
	if slot.Text != name {
		slot.Text, slot.Encoded = name, slot.Encoded[:0]
		if utf8.ValidString(name) {
			slot.Encoded = jsontext.AppendString(slot.Encoded, name)
		}
	}
	return slot.Encoded
}

// plain returns what makes the line of v, an operation, besides its attributes,
// name, scope and resource. It reports false where there is more to be said of v:
// an error, a sampling threshold, what was dropped, and all that entries are
// warned of.
func (f *lineFiller) plain(v *spanView, loose attrcache.Varying, r *root) (p plainSpan, ok bool) {
	const (
		first, last = 1e9, 9e9 // seconds of ten digits, whose nanoseconds fit an int64
		longest     = 1e17     // also when this is added to them
	)
	p = plainSpan{
		loose:  loose,
		second: v.start.Unix(), nano: int64(v.start.Nanosecond()), duration: int64(v.end.Sub(v.start)),
	}
	end := v.end.Unix()
	ok = first <= p.second && p.second < last && first <= end && end < last && 0 <= p.duration && p.duration < longest &&
		!v.traceID().IsZero() && !v.spanID().IsZero() && !v.failed() && v.dropped == 0 && v.context.TraceState().Len() == 0
	if ok && loose.Device >= 0 {
		p.device = f.device(v.attrs[loose.Device].Value.AsString())
		ok = len(p.device) > 0
	}
	return p, ok && f.setIDs(v, r)
}

// fill appends the line l of the span that p was made of last. What seldom
// changes is copied in one piece, into which the rest is put: half of the pieces
// save a tenth.
func (f *lineFiller) fill(dst []byte, l *entryLine, v *spanView, p *plainSpan) []byte {
	if p.loose.Step >= 0 {
		dst = strconv.AppendInt(append(dst, lineStep...), v.attrs[p.loose.Step].Value.AsInt64(), 10)
	}
	if p.loose.Device >= 0 {
		dst = append(append(dst, l.toDevice...), p.device...)
	}
	dst = append(dst, l.toMicros...)
	dst = jsontext.AppendMicros(dst, p.duration)
	dst = append(dst, l.toStart...)

	if p.second != f.second {
		f.second = p.second
		f.timeText = strconv.AppendInt(f.timeText[:0], p.second, 10)
		f.timeText = append(f.timeText, "000000000"+lineDuration...)
	}
	at := len(dst) + secondDigits
	dst = append(dst, f.timeText...)
	jsontext.AppendDigits9(dst[:at], uint32(p.nano))
	dst = strconv.AppendInt(dst, p.duration, 10)
	dst = append(dst, l.toIDs...)

	at = len(dst) + spanIDAt
	dst = append(dst, f.idText...)
	id := v.spanID()
	jsontext.AppendHex(dst[:at], id[:])
	return append(dst, l.toEnd...)
}

const (
	// secondDigits is how many digits the second of a plain span has.
	secondDigits = 10
	// spanIDAt is where the span's id is among the ids.
	spanIDAt = 2*len(op.TraceID{}) + len(lineSpanID)
)

// setIDs sets the text of the ids and the root. It reports false where the root's
// name is not valid text, which entries are warned of.
func (f *lineFiller) setIDs(v *spanView, r *root) bool {
	traceID, parentID := v.traceID(), v.parentID()
	if parentID == f.parentID && *r == f.root && f.idText != nil {
		if traceID != f.traceID {
			f.traceID = traceID
			jsontext.AppendHex(f.idText[:0], traceID[:])
		}
		return true
	}
	if !utf8.ValidString(r.name) {
		return false
	}
	text := append(jsontext.AppendHex(f.idText[:0], traceID[:]), lineSpanID...)
	text = append(text, `0000000000000000"`...)
	if !parentID.IsZero() {
		text = append(jsontext.AppendHex(append(text, lineParentID...), parentID[:]), '"')
	}
	if r.name != "" {
		text = jsontext.AppendString(append(text, lineRoot...), r.name)
	}
	if !r.id.IsZero() {
		text = append(jsontext.AppendHex(append(text, lineRootID...), r.id[:]), '"')
	}
	f.traceID, f.parentID, f.root, f.idText = traceID, parentID, *r, text
	return true
}

// maxCutLine is the longest line that is kept, in bytes.
const maxCutLine = 2 << 10

// cut cuts the line of the span that p was made of last. It reports false where the line is too long to be kept,
// or is not what filling it in gives.
func (f *lineFiller) cut(line []byte, v *spanView, p *plainSpan) (l entryLine, ok bool) {
	if len(line) > maxCutLine {
		return l, false
	}
	// Nothing that begins with a comma and a quote lies within a string, where
	// quotes are escaped. Numbers end with a comma.
	rest := string(line)
	take := func(n int) (part string) {
		n = min(max(0, n), len(rest))
		part, rest = rest[:n], rest[n:]
		return part
	}
	upTo := func(member string) string { return take(strings.Index(rest, member) + len(member)) }
	number := func() { take(strings.IndexByte(rest, ',')) }

	if p.loose.Step >= 0 {
		upTo(lineStep)
		number()
	}
	if p.loose.Device >= 0 {
		l.toDevice = upTo(lineDevice)
		take(len(p.device))
	}
	l.toMicros = upTo(lineMicros)
	number()
	l.toStart = upTo(lineStart)
	number()
	upTo(lineDuration)
	number()
	l.toIDs = upTo(lineTraceID)
	take(len(f.idText))
	l.toEnd = rest
	return l, string(f.fill(nil, &l, v, p)) == string(line)
}
