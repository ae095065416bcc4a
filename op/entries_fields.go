package op

import "github.com/optrace/optrace/internal/jsontext"

// entryField reads the value of the member called name into the entry, and reports
// whether there is such a member; it reads nothing where there is not. Of equal
// names the last wins. A value of another type than the member asks for is unknown,
// with a warning; the entry is kept.
func (d *decoder) entryField(name []byte) bool {
	if d.omitted != 0 && d.omits(name) {
		d.lex.Skip()
		return true
	}
	e := &d.entry
	switch string(name) {
	case "step":
		e.Step = d.integer(WarnBadValue)
	case "operation":
		e.Operation = d.text()
	case "device_id":
		named := d.lex.Peek() == '"'
		e.DeviceID = d.text()
		e.EmptyDevice = named && e.DeviceID == ""
	case "input_shapes":
		e.InputShapes = d.shapes()
	case "output_shape":
		e.OutputShape = d.outputShape()
	case "duration_us":
		d.durationMicros()
	case "output_elements":
		e.OutputElements = d.amount(WarnBadValue)
		d.has |= hasElements
	case "memory_bytes":
		e.MemoryBytes = d.amount(WarnBadMemory)
		d.has |= hasMemory
	case "kind":
		e.Kind = d.kind()
	case "kind_rule":
		e.KindRule = d.kindRule()
	case "dtype":
		e.DType = d.dtype()
	case "start_unix_ns":
		e.Start = d.integer(WarnBadTime)
	case "duration_ns":
		d.durationNanos()
	case "launch_unix_ns":
		e.Launch = d.integer(WarnBadTime)
	case "stream":
		e.Stream = d.integer(WarnBadValue)
	case "rank":
		e.Rank = d.amount(WarnBadValue)
	case "flops":
		e.FLOPs = d.amount(WarnBadValue)
	case "trace_id":
		e.TraceID = d.traceID()
	case "span_id":
		e.SpanID = d.spanID()
	case "parent_span_id":
		e.ParentSpanID = d.parentID()
	case "root":
		e.Root = d.text()
	case "root_span_id":
		e.RootSpanID = d.parentID()
	case "service":
		e.Service = d.text()
	case "scope":
		e.Scope = d.text()
	case "path":
		e.Path = d.text()
	case "input_dtypes":
		e.InputDTypes = d.inputDTypes()
	case "side":
		e.Side = d.side()
	case "error":
		e.Failed = d.lex.Peek() != 'n'
		e.Error = d.text()
	case "adjusted_count":
		e.AdjustedCount = d.adjustedCount()
	case "dropped_attributes":
		e.DroppedAttributes = d.amount(WarnBadValue).V
	case "attrs":
		d.attrs = d.attributes(d.attrs[:0])
		e.Attrs = d.attrs
	case "links":
		e.Links = d.decodeLinks()
	case "extra":
		e.Extra = d.decodeExtra()
	case "warn":
		e.Warn |= d.warnings()
	case "collective":
		e.Collective = d.collective()
	default:
		return false
	}
	return true
}

// durationMicros reads duration_us, which the recorder of the seed writes. It yields
// to duration_ns, wherever that stands.
func (d *decoder) durationMicros() {
	var ns int64
	var ok bool
	switch c := d.lex.Peek(); {
	case '0' <= c && c <= '9' || c == '-':
		ns, ok = d.lex.Micros()
	case c == '"':
		ns, ok = jsontext.ParseMicros(d.lex.Str())
	case d.lex.Null():
		// How the seed's recorder prints a NaN.
		d.entry.Warn |= WarnNonFinite
		d.has |= hasDuration
		return
	default:
		d.lex.Skip()
	}
	switch {
	case !ok:
		d.wrong("duration_us is not a duration that fits 64 bits of nanoseconds")
	case d.has&hasDurationNS == 0:
		d.entry.Duration = ns
	}
	d.has |= hasDuration
}

func (d *decoder) durationNanos() {
	if n := d.integer(WarnBadValue); n.Known {
		d.entry.Duration = n.V
		d.has |= hasDurationNS | hasDuration
	}
}

func (d *decoder) kind() Kind {
	name := d.text()
	k, ok := ParseKind(name)
	if !ok && name != "" {
		d.entry.Warn |= WarnBadValue
	}
	return k
}

func (d *decoder) kindRule() KindRule {
	rule, ok := parseKindRule(d.text())
	d.has.set(hasRule, ok)
	return rule
}

func (d *decoder) side() Side {
	switch d.text() {
	case "":
		return SideNone
	case SideHost.String():
		return SideHost
	}
	d.entry.Warn |= WarnBadValue
	return SideNone
}

func (d *decoder) dtype() DType {
	s := d.text()
	t, ok := ParseDType(s)
	if !ok && s != "" {
		d.entry.Warn |= WarnUnknownDType
	}
	return t
}

func (d *decoder) inputDTypes() []DType {
	l := &d.lex
	if !d.is('[') {
		return nil
	}
	d.dtypes = d.dtypes[:0]
	for l.Array(); l.More(); {
		t, _ := ParseDType(d.text())
		if len(d.dtypes) == MaxInputs {
			d.entry.Warn |= WarnShapeTruncated
			continue
		}
		d.dtypes = append(d.dtypes, t)
	}
	if d.dtypes == nil {
		d.dtypes = make([]DType, 0, 4)
	}
	return d.dtypes
}

func (d *decoder) adjustedCount() float64 {
	text, ok := d.number()
	if !ok {
		if !d.lex.Null() {
			d.lex.Skip()
			d.entry.Warn |= WarnBadValue
		}
		return 0
	}
	f, ok := jsontext.ParseFloat(text)
	if !ok || f < 1 {
		d.entry.Warn |= WarnBadValue
		return 0
	}
	return f
}

func (d *decoder) warnings() Warning {
	l := &d.lex
	var all Warning
	if !d.is('[') {
		return 0
	}
	for l.Array(); l.More(); {
		w, _ := ParseWarning(d.text()) // a newer version may know more of them
		all |= w
	}
	return all
}

func (d *decoder) collective() *Collective {
	l := &d.lex
	if !d.is('{') {
		return nil
	}
	d.coll = Collective{}
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "name":
			d.coll.Name = d.text()
		case "group":
			d.coll.Group = d.text()
		case "group_size":
			d.coll.GroupSize = d.integer(WarnBadValue)
		case "sequence":
			d.coll.Sequence = d.integer(WarnBadValue)
		case "peer_rank":
			d.coll.PeerRank = d.integer(WarnBadValue)
		case "in_elements":
			d.coll.InElements = d.integer(WarnBadValue)
		case "out_elements":
			d.coll.OutElements = d.integer(WarnBadValue)
		default:
			l.Skip()
		}
	}
	return &d.coll
}

// shape reads a list of dimensions; null is unknown. cut reports whether there were
// more than MaxRank.
func (d *decoder) shape() (s Shape, cut bool) {
	l := &d.lex
	if l.Peek() != '[' {
		if !l.Null() {
			d.badShape()
			l.Skip()
		}
		return nil, false
	}
	start, good := len(d.dims), true
	for l.Array(); l.More(); {
		v := d.integer(0)
		switch {
		case !v.Known || v.V < Dynamic:
			good = false
		case len(d.dims)-start == MaxRank:
			cut = true
		default:
			d.dims = append(d.dims, v.V)
		}
	}
	if !good {
		d.badShape()
		return nil, false
	}
	if cut {
		d.entry.Warn |= WarnShapeTruncated
	}
	if d.dims == nil {
		d.dims = make([]int64, 0, 16)
	}
	// Where dims grows later, this shape keeps the memory it had.
	return Shape(d.dims[start:len(d.dims):len(d.dims)]), cut
}

// outputShape reads the shape of the output.
func (d *decoder) outputShape() Shape {
	s, cut := d.shape()
	d.has.set(hasCutOutput, cut)
	return s
}

func (d *decoder) badShape() { d.entry.Warn |= WarnBadShape }

// shapes reads a list of shapes; null is unknown.
func (d *decoder) shapes() []Shape {
	l := &d.lex
	if l.Peek() != '[' {
		if !l.Null() {
			d.badShape()
			l.Skip()
		}
		return nil
	}
	d.inputs = d.inputs[:0]
	for l.Array(); l.More(); {
		s, _ := d.shape()
		if len(d.inputs) == MaxInputs {
			d.entry.Warn |= WarnShapeTruncated
			continue
		}
		d.inputs = append(d.inputs, s)
	}
	if d.inputs == nil {
		d.inputs = make([]Shape, 0, 4)
	}
	return d.inputs
}
