package live

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/record/attrcache"
	"github.com/optrace/optrace/internal/record/convert"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/internal/serve/livepage"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// shard profiles a part of the spans. Its methods lock it, unless they say it is locked.
type shard struct {
	mu      sync.Mutex
	mapping *attr.Mapping
	conv    *convert.Converter
	cache   attrcache.Cache[*template]
	profile *profile.Profile
	strings intern.Table
	metrics *metrics

	// records are the latest ones. Once there are most, the oldest is at index oldest.
	records      []record
	most, oldest int
	lost         livepage.Lost

	scratch op.Entry // of one record

	_ [64]byte // the next shard's lock is in another cache line
}

// template is the common part of operations with equal attributes, name, scope and resource: an entry without step,
// times and ids.
type template struct {
	entry    op.Entry
	resource *op.Resource
	series   *series // may be nil
}

type record struct {
	template        *template // nil for a span
	span            *op.Span
	resource        *op.Resource
	step            op.Int
	start, duration int64
	trace           op.TraceID
	id, parent      op.SpanID
}

func newShard(cfg config, n int, m *metrics) *shard {
	s := &shard{
		mapping: cfg.mapping, conv: convert.New(cfg.mapping, textBytes),
		cache:   attrcache.New[*template](maxCacheBytes / n),
		profile: profile.New(profile.Options{RecordedFLOPs: true, MaxGroups: min(maxRows, rowShare*maxRows/n)}),
		most:    max(1, cfg.records/n), metrics: m,
	}
	s.strings.Limit(maxNameBytes / n)
	return s
}

// end takes the data of a finished span. It returns the template and duration of an operation for metrics, a nil
// template for any other span. The shard is locked; end unlocks it.
func (s *shard) end(d *span.Data, withOps *traces.WithOps) (of *template, duration int64) {
	defer s.mu.Unlock()
	r := record{trace: d.TraceID(), id: d.SpanID(), parent: d.ParentID()}
	t, isOperation := s.template(d, &r)
	if !isOperation {
		if withOps.Has(r.trace) {
			s.add(record{span: s.conv.Ancestor(d).Clone(), resource: s.conv.Resource(d.Resource)})
		}
		return nil, 0
	}
	withOps.Add(r.trace)
	r.template = t
	r.resource = t.resource
	r.copyTo(&s.scratch)
	s.profile.Add(&s.scratch)
	s.add(r)
	return t, r.duration
}

func (r *record) copyTo(e *op.Entry) {
	*e = r.template.entry
	e.Step = r.step
	e.Start.V = r.start
	e.Duration = r.duration
	e.TraceID = r.trace
	e.SpanID = r.id
	e.ParentSpanID = r.parent
}

// template returns the template of an operation, or false for any other span, and sets the step and times of r.
func (s *shard) template(d *span.Data, r *record) (*template, bool) {
	varying := attrcache.NoVarying
	fits := d.DroppedAttrs == 0 && len(d.Links) == 0 && d.DroppedLinks == 0 && !d.Failed() &&
		d.Context.TraceState().Len() == 0
	if s.mapping == nil {
		varying.Step = attrcache.FindVarying(d.Attrs).Step
	}
	r.start = d.Start.UnixNano()
	r.duration = int64(d.End.Sub(d.Start))
	fits = fits && r.duration >= 0 && inRange(d.Start) && inRange(d.End)
	key := attrcache.Key{Attrs: d.Attrs, Varying: varying, Name: d.Name, Scope: d.Scope.Name, Resource: d.Resource}
	cached, worthAdding := s.cache.Lookup(&key)
	if cached != nil && fits {
		if varying.Step >= 0 {
			r.step = op.Known(d.Attrs[varying.Step].Value.AsInt64())
		}
		return *cached, true
	}
	e, ok := s.convert(d)
	if !ok {
		return nil, false
	}
	t := &template{entry: *e.Clone(), resource: s.conv.Resource(d.Resource)}
	// The profile finds its rows by the addresses of names.
	t.entry.Operation = s.strings.String([]byte(livepage.ShortText(e.Operation)))
	t.entry.DeviceID = s.strings.String([]byte(livepage.ShortText(e.DeviceID)))
	if s.metrics != nil {
		t.series = newSeries(e)
	}
	r.step = e.Step
	r.start = e.Start.V
	r.duration = e.Duration
	steps := varying.Step < 0 || e.Step == op.Known(d.Attrs[varying.Step].Value.AsInt64())
	if worthAdding && fits && steps {
		s.cache.Add(&key, t, templateBytes)
	}
	return t, true
}

// templateBytes is about the size of a template with its shapes and series, without texts. textBytes bounds the lists
// remembered by the converter.
const (
	templateBytes = 900
	textBytes     = 64 << 10
)

// convert returns the entry of an operation, with large texts shortened.
func (s *shard) convert(d *span.Data) (*op.Entry, bool) {
	e, ok := s.conv.Entry(d, span.Root{})
	if !ok {
		return nil, false
	}
	if len(d.Name)+span.Memory(d.Attrs) <= maxText {
		return e, true
	}
	return s.conv.Entry(new(d.Bounded()), span.Root{})
}

const maxText = 8 << 10 // the total size of a name and attributes up to which texts need no shortening

// add adds a record in place of the oldest one. The shard is locked.
func (s *shard) add(r record) {
	if len(s.records) < s.most {
		s.records = append(s.records, r)
		return
	}
	old := &s.records[s.oldest]
	if old.template != nil {
		s.lost.Operations++
	} else {
		s.lost.Spans++
	}
	*old = r
	if s.oldest++; s.oldest == s.most {
		s.oldest = 0
	}
}

// drain moves the records to a window and reports lost ones.
func (s *shard) drain(w *livepage.Writer, window *livepage.Window) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range slices.Concat(s.records[s.oldest:], s.records[:s.oldest]) {
		w.Add(op.Record{Resource: r.resource}, nil)
		if r.template == nil {
			w.Add(op.Record{Span: r.span}, nil)
		} else {
			r.copyTo(&s.scratch)
			w.Add(op.Record{Entry: &s.scratch}, nil)
		}
	}
	clear(s.records) // release references
	s.records = s.records[:0]
	s.oldest = 0
	window.AddLost(s.lost)
	s.lost = livepage.Lost{}
}

// inRange reports whether a time fits Unix nanoseconds.
func inRange(t time.Time) bool {
	const far = int64(math.MaxInt64/time.Second) - 1
	s := t.Unix()
	return -far < s && s < far
}
