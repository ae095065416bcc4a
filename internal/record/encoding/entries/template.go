package entries

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/optrace/optrace/internal/record/attrcache"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// template is the line of an operation without the step, the device, the times, the ids and the root. These differ
// between spans with equal attributes, name, scope and resource. Rendering it is much cheaper than converting and
// encoding the span.
type template struct {
	toDevice string // from the start, or from behind a varying step
	toMicros string // from behind a varying device, or else as toDevice
	toStart  string // from behind the duration in microseconds
	toIDs    string // from behind the duration in nanoseconds, or a varying launch time
	toEnd    string // from behind the ids and the root
}

// The text before the fields.
const (
	lineStep     = `{"step":`
	lineDevice   = `,"device_id":`
	lineMicros   = `,"duration_us":`
	lineStart    = `,"start_unix_ns":`
	lineDuration = `,"duration_ns":`
	lineLaunch   = `,"launch_unix_ns":` // always behind the duration
	lineTraceID  = `,"trace_id":"`
	lineSpanID   = `","span_id":"`
	lineParentID = `,"parent_span_id":"`
	lineRoot     = `,"root":`
	lineRootID   = `,"root_span_id":"`
)

// fields are the values that a template lacks, beside the data of the span.
type fields struct {
	varying                attrcache.Varying
	device                 []byte // encoded
	second, nano, duration int64  // the start in two parts; the others in ns
}

type renderer struct {
	// timeText holds the digits of second, nine for the nanoseconds, and the text between these and the duration.
	second   int64
	timeText []byte

	// idText holds the ids, the span's at spanIDAt, and the root.
	traceID  op.TraceID
	parentID op.SpanID
	root     span.Root
	idText   []byte

	devices attrcache.Strings
}

// device returns a device in JSON, valid until the next call, or nothing for one unfit for the cache.
func (f *renderer) device(name string) []byte {
	slot := f.devices.Slot(name)
	if slot == nil {
		return nil
	}
	if slot.Text != name {
		slot.Text = name
		slot.Encoded = slot.Encoded[:0]
		if utf8.ValidString(name) {
			slot.Encoded = scalar.AppendString(slot.Encoded, name)
		}
	}
	return slot.Encoded
}

// fields returns the fields of the operation v. It reports false if v does not fit a template: it has an error, a
// sampling threshold, links, dropped attributes, or values with a warning.
func (f *renderer) fields(v *span.Data, varying attrcache.Varying, r *span.Root) (p fields, ok bool) {
	const (
		first, last = 1e9, 9e9 // seconds of ten digits with nanoseconds in an int64
		longest     = 1e17     // also added to them
	)
	p = fields{
		varying: varying,
		second:  v.Start.Unix(), nano: int64(v.Start.Nanosecond()), duration: int64(v.End.Sub(v.Start)),
	}
	end := v.End.Unix()
	ok = first <= p.second && p.second < last && first <= end && end < last && 0 <= p.duration &&
		p.duration < longest && !v.TraceID().IsZero() && !v.SpanID().IsZero() && !v.Failed() && v.DroppedAttrs == 0 &&
		len(v.Links) == 0 && v.DroppedLinks == 0 && v.Context.TraceState().Len() == 0
	if ok && varying.Device >= 0 {
		p.device = f.device(v.Attrs[varying.Device].Value.AsString())
		ok = len(p.device) > 0
	}
	return p, ok && f.setIDs(v, r)
}

func (f *renderer) render(dst []byte, l *template, v *span.Data, p *fields) []byte {
	if p.varying.Step >= 0 {
		dst = strconv.AppendInt(append(dst, lineStep...), v.Attrs[p.varying.Step].Value.AsInt64(), 10)
	}
	if p.varying.Device >= 0 {
		dst = append(append(dst, l.toDevice...), p.device...)
	}
	dst = append(dst, l.toMicros...)
	dst = scalar.AppendMicros(dst, p.duration)
	dst = append(dst, l.toStart...)

	if p.second != f.second {
		f.second = p.second
		f.timeText = strconv.AppendInt(f.timeText[:0], p.second, 10)
		f.timeText = append(f.timeText, "000000000"+lineDuration...)
	}
	at := len(dst) + secondDigits - 1
	dst = append(dst, f.timeText...)
	last := dst[at]
	strconv.AppendInt(dst[:at], 1e9+p.nano, 10) // ten digits; the first is not of the nanoseconds
	dst[at] = last
	dst = strconv.AppendInt(dst, p.duration, 10)
	if p.varying.Launch >= 0 {
		dst = strconv.AppendInt(append(dst, lineLaunch...), v.Attrs[p.varying.Launch].Value.AsInt64(), 10)
	}
	dst = append(dst, l.toIDs...)

	at = len(dst) + spanIDAt
	dst = append(dst, f.idText...)
	id := v.SpanID()
	scalar.AppendHex(dst[:at], id[:])
	return append(dst, l.toEnd...)
}

const (
	secondDigits = 10 // the number of digits of a rendered second
	// spanIDAt is the place of the span's id among the ids.
	spanIDAt = 2*len(op.TraceID{}) + len(lineSpanID)
)

// setIDs sets the text of the ids and the root. It reports false for a root's name outside UTF-8.
func (f *renderer) setIDs(v *span.Data, r *span.Root) bool {
	traceID := v.TraceID()
	parentID := v.ParentID()
	if parentID == f.parentID && *r == f.root && f.idText != nil {
		if traceID != f.traceID {
			f.traceID = traceID
			scalar.AppendHex(f.idText[:0], traceID[:])
		}
		return true
	}
	if !utf8.ValidString(r.Name) {
		return false
	}
	text := append(scalar.AppendHex(f.idText[:0], traceID[:]), lineSpanID...)
	text = append(text, `0000000000000000"`...)
	if !parentID.IsZero() {
		text = append(scalar.AppendHex(append(text, lineParentID...), parentID[:]), '"')
	}
	if r.Name != "" {
		text = scalar.AppendString(append(text, lineRoot...), r.Name)
	}
	if !r.ID.IsZero() {
		text = append(scalar.AppendHex(append(text, lineRootID...), r.ID[:]), '"')
	}
	f.traceID = traceID
	f.parentID = parentID
	f.root = *r
	f.idText = text
	return true
}

const maxTemplate = 2 << 10

// compile makes a template of a line, unless the line is too long or differs from the rendered template.
func (f *renderer) compile(line []byte, v *span.Data, p *fields) (l template, ok bool) {
	if len(line) > maxTemplate {
		return l, false
	}
	// A comma followed by a quote never occurs within a string: quotes are escaped there. Numbers end with a comma.
	rest := string(line)
	take := func(n int) (part string) {
		n = min(max(0, n), len(rest))
		part = rest[:n]
		rest = rest[n:]
		return part
	}
	upTo := func(member string) string { return take(strings.Index(rest, member) + len(member)) }
	number := func() { take(strings.IndexByte(rest, ',')) }

	if p.varying.Step >= 0 {
		upTo(lineStep)
		number()
	}
	if p.varying.Device >= 0 {
		l.toDevice = upTo(lineDevice)
		take(len(p.device))
	}
	l.toMicros = upTo(lineMicros)
	number()
	l.toStart = upTo(lineStart)
	number()
	upTo(lineDuration)
	number()
	if p.varying.Launch >= 0 {
		upTo(lineLaunch)
		number()
	}
	l.toIDs = upTo(lineTraceID)
	take(len(f.idText))
	l.toEnd = rest
	return l, string(f.render(nil, &l, v, p)) == string(line)
}
