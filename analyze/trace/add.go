package trace

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// Add adds an operation, a span or a call of the host and ignores other records. It retains only strings of rec.
func (f *Forest) Add(rec op.Record) {
	switch {
	case rec.Entry != nil:
		f.AddOp(rec.Entry, f.works.Entry(rec.Entry))
	case rec.Span != nil:
		f.AddSpan(rec.Span)
	case rec.Call != nil:
		f.AddCall(rec.Call)
	}
}

// AddCall adds a call of the host, or a wait of an operation for another.
func (f *Forest) AddCall(c *op.Entry) {
	if !c.SpanID.IsZero() {
		f.Waits = append(f.Waits, Wait{Trace: c.TraceID, Op: SpanNumber(c.ParentSpanID), For: SpanNumber(c.SpanID)})
		return
	}
	isWait := attrkey.IsWait(c.Operation) || attrkey.IsStreamWait(c.Operation)
	if !c.Start.Known || c.Duration <= 0 && !isWait || !IsTime(c.Start.V, c.Duration) {
		return
	}
	call := Call{
		Name: c.Operation, Rank: c.Rank, Start: c.Start.V, Duration: max(0, c.Duration), Device: c.DeviceID,
		Stream: c.Stream, Inside: !c.ParentSpanID.IsZero() || c.Duration <= 0,
	}
	for i := range c.Attrs {
		a := &c.Attrs[i]
		n, ok := count(a)
		value := op.Int{V: n, Known: ok}
		switch a.Key {
		case attrkey.Thread:
			call.Thread = value
		case attrkey.WaitStream:
			call.OnStream = value
		case attrkey.WaitRecorded:
			call.Recorded = value
		}
	}
	f.Calls = append(f.Calls, call)
}

// formOf returns a number below 0 for shapes, in two bytes.
func formOf(shapes []op.Shape) int64 {
	const offset, prime = 14695981039346656037, 1099511628211 // of the hash FNV-1
	hash := uint64(offset)
	for _, s := range shapes {
		hash = hash*prime ^ uint64(len(s))
		for _, d := range s {
			hash = hash*prime ^ uint64(d)
		}
	}
	return -1 - int64(hash>>49)
}

// AddOp adds an operation and its work.
func (f *Forest) AddOp(e *op.Entry, w work.Work) {
	var r row
	v := &r.values
	trace := f.Names.traceOf(e.TraceID)
	lane := f.Names.laneOf(e)
	v[colDuration] = max(0, e.Duration)
	v[colSpan] = int64(SpanNumber(e.SpanID))
	v[colParent] = int64(SpanNumber(e.ParentSpanID))
	v[colTrace] = int64(trace)
	v[colName] = int64(f.Names.Operations.ID(e.Operation))
	v[colLane] = int64(lane)
	v[colKind] = int64(e.Kind)
	v[colMemory] = e.MemoryBytes.V
	v[colElements] = e.OutputElements.V
	if w.Flops > 0 && !e.OutputElements.Known {
		v[colElements] = formOf(e.InputShapes)
	}
	v[colFLOPs] = w.Flops
	v[colBound] = w.Bound
	if w.Moved() {
		v[colMoved] = ^w.Bytes
	}
	v[colWeight] = int64(math.Float64bits(e.AdjustedCount))
	v[colUnlinked] = opmodel.DroppedLinks(e.Extra)
	r.flags = FlagOp | sumFlags(e, &w)
	if e.Side == op.SideHost {
		r.flags |= FlagHost
	}
	if e.Step.Known {
		r.flags |= FlagStep
		v[colStep] = e.Step.V
		f.steps.add(lane, e.Step.V)
	}
	if e.Launch.Known {
		r.flags |= FlagLaunch
		v[colLaunch] = e.Launch.V
	}
	if e.LaunchedBy != "" || !e.LaunchSpanID.IsZero() {
		v[colLaunchSpan] = int64(SpanNumber(e.LaunchSpanID))
		r.values[colLauncher] = int64(f.Names.Launchers.ID(e.LaunchedBy))
	}
	if e.StepName != "" || e.Phase != "" {
		r.values[colMark] = int64(f.Names.Marks.ID(Mark{e.StepName, e.Phase}))
	}
	r.values[colPath] = int64(f.Names.pathOf(e.Path))
	if e.Failed {
		r.values[colError] = int64(f.Names.Errors.ID(e.Error))
	}
	r.values[colStamp] = int64(f.Names.stampOf(trace, e.Root, e.RootSpanID))
	if len(e.Attrs) > 0 {
		f.addAttrs(&r, e.Attrs)
	}
	if f.details {
		r.values[colShape] = int64(f.Names.Shapes.ID(shapeText(e)))
		f.scratch = appendArguments(f.scratch[:0], e)
		r.values[colArguments] = int64(f.Names.Arguments.ID(f.scratch))
	}
	if len(f.By) > 0 {
		f.addGroup(&r, e)
	}
	if f.add(&r, e.Start) {
		f.addCollective(e)
		f.addLinks(e.Links)
	}
}

// LayerOf returns the number in the name or path of a layer, such as layers.12, and the text with # in its place. Of several
// numbers it is the first one alone between dots or slashes, as in layers.12.conv1. It reports false without one.
func LayerOf(text string) (family string, number int64, ok bool) {
	from, to := numberIn(text)
	if from == to {
		return "", 0, false
	}
	number, err := strconv.ParseInt(text[from:to], 10, 32)
	return text[:from] + "#" + text[to:], number, err == nil
}

// numberIn returns the place of the number of a layer in a text, an empty one without it.
func numberIn(text string) (from, to int) {
	const digits = "0123456789"
	isDigit := func(i int) bool { return i < len(text) && text[i]-'0' <= 9 }
	for from < len(text) && !isDigit(from) {
		from++
	}
	for to = from; isDigit(to); to++ {
	}
	if !strings.ContainsAny(text[to:], digits) {
		return from, to
	}
	for from < len(text) {
		part := text[from:]
		if end := strings.IndexAny(part, "./"); end >= 0 {
			part = part[:end]
		}
		to = from + len(part)
		if isApart := from == 0 || text[from-1] == '.' || text[from-1] == '/'; isApart && part != "" && strings.Trim(part, digits) == "" {
			return from, to
		}
		from = to + 1
	}
	return 0, 0
}

// sumFlags returns the facts about e and its work needed only by sums.
func sumFlags(e *op.Entry, w *work.Work) Flags {
	flags := Flags(e.KindRule) << RuleShift
	if e.MemoryBytes.Known {
		flags |= FlagMemory
	}
	if e.Failed {
		flags |= FlagFailed
	}
	if e.Warn&op.WarnNegativeDuration != 0 {
		flags |= FlagNegative
	}
	if w.Known() {
		flags |= flagFLOPs
	}
	if w.Derived() {
		flags |= flagDerived
	}
	return flags
}

// AddSpan adds a span other than an operation.
func (f *Forest) AddSpan(s *op.Span) {
	isEmpty := s.SpanID.IsZero() && s.ParentSpanID.IsZero() && !s.Start.Known && s.Duration <= 0 && s.Name == ""
	if isEmpty && len(s.Links) == 0 {
		return
	}
	var r row
	r.values[colDuration] = max(0, s.Duration)
	r.values[colSpan] = int64(SpanNumber(s.SpanID))
	r.values[colParent] = int64(SpanNumber(s.ParentSpanID))
	r.values[colTrace] = int64(f.Names.Traces.ID(s.TraceID))
	r.values[colName] = int64(f.Names.Spans.ID(spanName{Name: s.Name, Service: s.Service}))
	r.values[colUnlinked] = opmodel.DroppedLinks(s.Extra)
	if s.RemoteParent {
		r.flags |= FlagRemote
	}
	if s.Failed {
		r.flags |= FlagFailed
		if s.Extra != nil {
			r.values[colError] = int64(f.Names.Errors.ID(s.Extra.Message))
		}
	}
	f.addStepOf(&r, s)
	if f.add(&r, s.Start) {
		f.addLinks(s.Links)
		if f.spanKeys != nil {
			f.keepAttrs(s)
		}
	}
}

// addStepOf sets the thread of a span and, if its name or tensor.step says that it is a step, its step.
func (f *Forest) addStepOf(r *row, s *op.Span) {
	mark := f.marks.Of(uint32(r.values[colName]), s.Name)
	number := mark.Number
	isStep := mark.IsStep()
	for i := range s.Attrs {
		a := &s.Attrs[i]
		switch n, ok := count(a); {
		case a.Key == attrkey.Thread:
			r.values[colThread] = int64(f.Names.threadOf(a))
		case !ok:
		case a.Key == attrkey.Step:
			number = op.Known(n)
			isStep = true
		case !number.Known && slices.Contains(attrkey.StepNumbers[:], a.Key):
			number = op.Known(n)
		}
	}
	if isStep {
		r.values[colMark] = int64(f.Names.Marks.ID(Mark{StepName: s.Name}))
		if number.Known {
			r.flags |= FlagStep
			r.values[colStep] = number.V
		}
	}
}

// add adds r with the given start. It returns false if f is full.
func (f *Forest) add(r *row, start op.Int) bool {
	switch {
	case !start.Known:
	case !IsTime(start.V, r.values[colDuration]):
		f.Counts.BadTimes++
	default:
		r.flags |= FlagStart
		r.values[colStart] = start.V
	}
	if f.Len() >= f.limit {
		f.Counts.Overflow++
		return false
	}
	if r.flags&FlagOp != 0 {
		f.Counts.Ops++
	} else {
		f.Counts.Spans++
	}
	f.columns.append(r)
	if f.built.Load() {
		f.built.Store(false)
	}
	return true
}

func (f *Forest) addLinks(links []op.Link) {
	for i := range links {
		f.links = append(f.links, f.linkOf(f.Rows()-1, &links[i]))
	}
}

func (f *Forest) linkOf(row int32, l *op.Link) rowLink {
	return rowLink{
		row: row, trace: f.Names.Traces.ID(l.TraceID), span: SpanNumber(l.SpanID),
		weight: linkWeight(l.Weight), attention: linkWeight(l.Attention),
	}
}

// AddLinks adds links to rows, as if they were recorded.
func (f *Forest) AddLinks(of map[int32][]op.Link) {
	for row, links := range of {
		for i := range links {
			f.links = append(f.links, f.linkOf(row, &links[i]))
		}
	}
	slices.SortStableFunc(f.links, func(a, b rowLink) int { return cmp.Compare(a.row, b.row) })
	f.built.Store(false)
}

// HasLinks reports whether row r has links.
func (f *Forest) HasLinks(r int32) bool {
	_, has := slices.BinarySearchFunc(f.links, r, func(l rowLink, r int32) int { return cmp.Compare(l.row, r) })
	return has
}

func linkWeight(w op.Int) int64 {
	if !w.Known {
		return noWeight
	}
	return max(0, w.V)
}

// addCollective adds the collective stated by the operation in the last row, if it is of kind collective and not
// the host's view.
func (f *Forest) addCollective(e *op.Entry) {
	if e.Kind != op.KindCollective || e.Side == op.SideHost {
		return
	}
	c := Collective{Row: f.Rows() - 1, Start: e.Start.V, Started: e.Start.Known, Inferred: true, Peer: -1}
	name := CollectiveName{Name: e.Operation}
	size := e.MemoryBytes
	if of := e.Collective; of != nil {
		name = CollectiveName{cmp.Or(of.Name, e.Operation), of.Group}
		c.Number = of.Sequence.V
		c.Inferred = !of.Sequence.Known
		if of.PeerRank.Known && of.PeerRank.V <= math.MaxInt32 {
			c.Peer = int32(max(-1, of.PeerRank.V))
		}
		c.Ranks = int32(min(max(0, of.GroupSize.V), math.MaxInt32))
		if bytes := messageBytes(of, e.DType); bytes > 0 {
			size = op.Known(bytes)
		}
	}
	c.Bytes = size.V
	c.Sized = size.Known
	c.Name = f.Names.Collectives.ID(name)
	f.Collectives = append(f.Collectives, c)
}

// messageBytes returns the size of the larger side of a collective, as used for bandwidth; 0 if unknown.
func messageBytes(c *op.Collective, t op.DType) int64 {
	n := max(c.InElements.V, c.OutElements.V)
	size := t.Size()
	if n <= 0 || size == 0 || n > math.MaxInt64/size {
		return 0
	}
	return n * size
}

func (f *Forest) addGroup(r *row, e *op.Entry) {
	f.scratch = key.Append(f.scratch[:0], f.By, e)
	r.values[colGroup] = int64(f.Names.Groups.ID(f.scratch))
	if f.ByTree {
		v := Variety{e.InputShapes, e.OutputShape, e.DType, e.InputDTypes}
		r.values[colVariety] = int64(f.Names.Varieties.id(v))
	}
}

func (f *Forest) addAttrs(r *row, attrs []op.Attr) {
	var g Graph
	threads := int64(1)
	known := 0
	for i := range attrs {
		switch a := &attrs[i]; a.Key {
		case attrkey.Grid, attrkey.Block:
			if n := volume(a.Value); n > 0 && n <= fewThreads {
				threads *= n
				known++
			}
		case attrkey.ClockError:
			if n, ok := count(a); ok {
				f.Counts.Clocked++
				f.Counts.ClockError = max(f.Counts.ClockError, n)
			}
		case attrkey.LaunchDuration:
			n, _ := count(a)
			r.values[colCall] = cmp.Or(r.values[colCall], n)
		case attrkey.LaunchCall:
			if attrkey.IsGraphLaunch(a.Value) {
				g.Call = a.Value
			}
		case attrkey.Graph:
			g.ID = a.Value
		case attrkey.GraphNodeName:
			g.Node = a.Value
		case attrkey.Thread:
			r.values[colThread] = int64(f.Names.threadOf(a))
		case attrkey.Power:
			if watts, err := strconv.ParseFloat(a.Value, 64); err == nil && watts >= 0 && watts < 1e9 {
				r.values[colPower] = int64(math.Float64bits(watts))
			}
		}
	}
	if known == 2 && threads <= fewThreads {
		r.values[colThreads] = threads
	}
	if g.ID != "" {
		g.Call = "" // the number alone identifies the graph
	}
	if g.ID != "" || g.Call != "" {
		r.values[colGraph] = int64(f.Names.Graphs.ID(g))
	}
}

// volume returns the product of a list of numbers such as "[4,2,1]", clipped, 0 for other texts.
func volume(list string) int64 {
	inner, is := strings.CutPrefix(list, "[")
	if !is {
		return 0
	}
	product := int64(1)
	for side := range strings.SplitSeq(strings.TrimSuffix(inner, "]"), ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(side), 10, 64)
		if err != nil || n < 0 {
			return 0
		}
		product = min(product, 1<<31) * min(n, 1<<31)
	}
	return product
}

// count returns an integer attribute clipped to 0, or 0 if it is no integer. ok is false for invalid and negative
// values.
func count(a *op.Attr) (n int64, ok bool) {
	if a.Type != op.AttrInt {
		return 0, false
	}
	n, err := strconv.ParseInt(a.Value, 10, 64) // 0 on error
	return max(0, n), err == nil && n >= 0
}

func appendArguments(b []byte, e *op.Entry) []byte {
	for i := range e.Attrs {
		a := &e.Attrs[i]
		if !slices.Contains(attrkey.Shown[:], a.Key) {
			continue
		}
		if len(b) == 0 {
			b = append(b, '{')
		} else {
			b[len(b)-1] = ','
		}
		b = append(scalar.AppendString(b, a.Key), ':')
		b = append(a.AppendJSONValue(b), '}')
	}
	return b
}

func shapeText(e *op.Entry) string {
	inputs := make([]string, len(e.InputShapes))
	for i, s := range e.InputShapes {
		inputs[i] = s.String()
	}
	text := strings.Join(inputs, ", ")
	if e.OutputShape != nil {
		text += " → " + e.OutputShape.String()
	}
	if e.DType != "" {
		text += " " + string(e.DType)
	}
	return strings.TrimPrefix(text, " ")
}
