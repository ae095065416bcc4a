package op

import "math"

// decodeSpan reads the value of an ancestry record; null is none.
func (d *decoder) decodeSpan() *Span {
	l := &d.lex
	if l.Null() {
		return nil
	}
	d.span = Span{}
	s := &d.span
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "name":
			s.Name = d.text()
		case "trace_id":
			s.TraceID = d.traceID()
		case "span_id":
			s.SpanID = d.spanID()
		case "parent_span_id":
			s.ParentSpanID = d.parentID()
		case "parent_remote":
			s.RemoteParent = d.flag()
		case "start_unix_ns":
			s.Start = d.integer(WarnBadTime)
		case "duration_ns":
			s.Duration = d.amount(WarnNegativeDuration).V
		case "service":
			s.Service = d.text()
		case "failed":
			s.Failed = d.flag()
		default:
			l.Skip()
		}
	}
	if s.Start.V > math.MaxInt64-s.Duration {
		s.Start = Int{}
	}
	return s
}

// flag reads true or false; null is false.
func (d *decoder) flag() bool { return !d.lex.Null() && d.lex.Bool() }

func (d *decoder) decodeResource() *Resource {
	l := &d.lex
	if l.Null() {
		return nil
	}
	d.resource = Resource{}
	r := &d.resource
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "service":
			r.Service = d.text()
		case "rank":
			r.Rank = d.amount(WarnBadValue)
		case "world_size":
			r.WorldSize = d.amount(WarnBadValue)
		case "attrs":
			r.Attrs = d.attributes(nil)
		default:
			l.Skip()
		}
	}
	return r
}

func (d *decoder) decodeGap() *Gap {
	l := &d.lex
	if l.Null() {
		return nil
	}
	d.gap = Gap{}
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "dropped":
			d.gap.Dropped = d.count("dropped")
		case "reason":
			d.gap.Reason = d.text()
		default:
			l.Skip()
		}
	}
	return &d.gap
}

func (d *decoder) decodeBatch() *Batch {
	l := &d.lex
	if l.Null() {
		return nil
	}
	d.batch = Batch{}
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "writer":
			d.batch.Writer = d.text()
		case "seq":
			d.batch.Sequence = d.count("seq")
		case "entries":
			d.batch.Entries = d.count("entries")
		default:
			l.Skip()
		}
	}
	return &d.batch
}

// count reads a number that the record is useless without.
func (d *decoder) count(field string) int64 {
	n := d.amount(WarnBadValue)
	if !n.Known {
		d.wrong(field + " is not a count")
	}
	return n.V
}
