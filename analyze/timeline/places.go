package timeline

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// Bounds of the places and of the names in each. Further places and names share [key.Other].
const (
	maxPlaces = 1 << 12
	maxNames  = 16
)

// Place sums up the idle gaps of all devices between the same two operations.
type Place struct {
	// After and Until name the work before and after the gaps: the launching host operators, or else the graph or the
	// device operation. If operators nest, it is the outermost operator around only one of the two. If the host was
	// waiting for a device outside operators as the gaps began, After is the waiting call. Both are [key.Other] in the
	// row of all other places.
	After string `json:"after"`
	Until string `json:"until"`
	Count int64  `json:"count"`
	SumNS int64  `json:"sum_ns"`
	MaxNS int64  `json:"max_ns"`
	// MaxStartNS is the start of the longest gap.
	MaxStartNS int64 `json:"max_start_unix_ns"`
	// NoRequestNS is the part of SumNS without a running request, see [Idle].
	NoRequestNS int64 `json:"no_request_ns"`
	// EarlyNS is the part of SumNS before the service had the request of the work after it. WithinNS is the part between
	// operations of one request.
	EarlyNS  int64 `json:"-"`
	WithinNS int64 `json:"-"`
	// WaitCount counts the gaps with a beginning during a host's wait for a device. Wait is the first waiting call.
	WaitCount int64  `json:"wait_count"`
	Wait      string `json:"wait"`
	// HostNS divides SumNS by the innermost operation, span or call of the host. Requests with spans below them do not
	// count. UntracedNS is the rest, without any record of the host.
	HostNS     map[string]int64 `json:"host_ns"`
	UntracedNS int64            `json:"untraced_ns"`
}

// FirstPlaces returns the first top places of a list and one row of the others. It keeps the list.
func FirstPlaces(places []Place, top int) []Place {
	if top = max(0, top); len(places) <= top+1 {
		return places
	}
	others := Place{After: key.Other, Until: key.Other, HostNS: make(map[string]int64)}
	for i := range places[top:] {
		others.merge(&places[top+i])
	}
	return append(slices.Clone(places[:top]), others)
}

func (p *Place) merge(o *Place) {
	p.Count += o.Count
	p.SumNS = wide.AddSaturating(p.SumNS, o.SumNS)
	if o.MaxNS > p.MaxNS {
		p.MaxNS = o.MaxNS
		p.MaxStartNS = o.MaxStartNS
	}
	p.NoRequestNS = wide.AddSaturating(p.NoRequestNS, o.NoRequestNS)
	p.EarlyNS = wide.AddSaturating(p.EarlyNS, o.EarlyNS)
	p.WithinNS = wide.AddSaturating(p.WithinNS, o.WithinNS)
	p.WaitCount += o.WaitCount
	p.Wait = cmp.Or(p.Wait, o.Wait)
	if len(o.HostNS) > 0 {
		for _, name := range slices.Sorted(maps.Keys(o.HostNS)) {
			p.addHost(name, o.HostNS[name])
		}
	}
	p.UntracedNS = wide.AddSaturating(p.UntracedNS, o.UntracedNS)
}

func (p *Place) addHost(name string, ns int64) {
	sum, found := p.HostNS[name]
	if !found && len(p.HostNS) >= maxNames {
		name = key.Other
		sum = p.HostNS[name]
	}
	p.HostNS[name] = wide.AddSaturating(sum, ns)
}

type placeName struct{ after, until string }

// placer sums up gaps by place.
type placer struct {
	hosts
	owners  []int32        // the request of each row, nil without spans
	nesting *trace.Nesting // nil without launchers
	places  map[placeName]*Place
	waits   map[op.Int][]wait // by rank and start; all under the unknown rank
}

// wait is a time and a call: the call has the latest end among the waiting calls started until then.
type wait struct {
	from int64
	call *trace.Call
}

func newPlacer(f *trace.Forest, owners []int32) *placer {
	p := &placer{hosts: newHosts(f, owners), owners: owners, places: make(map[placeName]*Place), waits: make(map[op.Int][]wait)}
	if f.HasLaunchers() {
		p.nesting = f.Nesting()
	}
	var waits []int32
	for i := range f.Calls {
		if attrkey.IsWait(f.Calls[i].Name) {
			waits = append(waits, ^int32(i))
		}
	}
	order.Rows(waits, func(i int32) int64 { return f.Calls[^i].Start }, p.compareTied)
	for _, i := range waits {
		c := &f.Calls[^i]
		p.addWait(op.Int{}, c)
		if c.Rank.Known {
			p.addWait(c.Rank, c)
		}
	}
	return p
}

func (p *placer) addWait(rank op.Int, c *trace.Call) {
	list := p.waits[rank]
	w := wait{c.Start, c}
	if n := len(list); n > 0 && endOf(list[n-1].call) > endOf(c) {
		w.call = list[n-1].call
	}
	p.waits[rank] = append(list, w)
}

func endOf(c *trace.Call) int64 { return c.Start + c.Duration }

// waitAt returns the call of the current host waiting for a device at a time, or nil.
func (p *placer) waitAt(at int64) *trace.Call {
	list := p.waits[p.rank]
	n := sort.Search(len(list), func(i int) bool { return list[i].from > at })
	if n == 0 || endOf(list[n-1].call) <= at {
		return nil
	}
	return list[n-1].call
}

// add adds the gap between rows last and next, quiet nanoseconds of it without a request.
func (p *placer) add(last, next int32, start, length, quiet int64) {
	name := placeName{p.nameBeside(last, next), p.nameBeside(next, last)}
	gap := Place{Count: 1, SumNS: length, MaxNS: length, MaxStartNS: start, NoRequestNS: quiet}
	if of := p.owners; of != nil && of[next] != trace.NoRow && int(of[next]) < len(of) {
		gap.EarlyNS = max(0, min(length, p.cameAt(next)-start))
		if of[last] == of[next] {
			gap.WithinNS = length
		}
	}
	if wait := p.waitAt(start); wait != nil {
		gap.WaitCount = 1
		if gap.Wait = wait.Name; !wait.Inside {
			name.after = wait.Name
		}
	}
	place := p.places[name]
	if place == nil && len(p.places) >= maxPlaces {
		name = placeName{key.Other, key.Other}
		place = p.places[name]
	}
	if place == nil {
		place = &Place{After: name.after, Until: name.until, HostNS: make(map[string]int64)}
		p.places[name] = place
	}
	isLong := p.walk(place, start, start+length, func(i int32, ns int64) {
		if i == nobody {
			gap.UntracedNS += ns
		} else {
			place.addHost(p.name(i), ns)
		}
	})
	if isLong {
		gap.UntracedNS = length // until walkLong
	}
	place.merge(&gap)
}

// cameAt returns when the service of row r had its request: the start of its outermost span there.
func (p *placer) cameAt(r int32) int64 {
	f := p.forest
	came := p.owners[r]
	service := f.Service(r)
	for at := f.Tree.Parent[r]; at != trace.NoRow && at != p.owners[r]; at = f.Tree.Parent[at] {
		if f.Node(at).Service() == service {
			came = at
		}
	}
	return f.Start(came)
}

const maxNested = 64 // bounds the number of examined operators around a launch

// nameBeside returns the name of the launcher of row r: the outermost host operator not around the launch of row other,
// or else the graph or operation.
func (p *placer) nameBeside(r, other int32) string {
	f := p.forest
	host := f.Launcher(r)
	if host == trace.NoRow {
		name, _ := f.Graph(r)
		if name == "" || f.Launch(r) == f.Launch(other) {
			return cmp.Or(f.LauncherName(r), f.RowName(r))
		}
		return name
	}
	beside := f.Launcher(other)
	at := f.Tree.Parent[host]
	for range maxNested {
		if at == trace.NoRow || beside != trace.NoRow && p.nesting.Within(beside, at) {
			break
		}
		if f.Has(at, trace.FlagOp|trace.FlagHost) {
			host = at
		}
		at = f.Tree.Parent[at]
	}
	return f.RowName(host)
}

// all returns the places, largest sum first, the one beyond maxPlaces last.
func (p *placer) all() []Place {
	p.walkLong(func(place *Place, i int32, ns int64) {
		place.addHost(p.name(i), ns)
		place.UntracedNS -= ns
	})
	list := make([]Place, 0, len(p.places))
	for _, place := range p.places {
		list = append(list, *place)
	}
	slices.SortFunc(list, func(a, b Place) int {
		return cmp.Or(order.Flags(a.After == key.Other, b.After == key.Other), cmp.Compare(b.SumNS, a.SumNS),
			cmp.Compare(a.After, b.After), cmp.Compare(a.Until, b.Until))
	})
	return list
}

// IdleWithin returns the idle time of devices within the given times of their ranks, summed over devices. Times of the
// unknown rank apply to devices of ranks without times. Times may overlap, and may be in any order. IdleWithin sorts
// them.
func IdleWithin(f *trace.Forest, times map[op.Int][][2]int64) (ns int64) {
	merged := make(map[op.Int]Times)
	for rank, list := range times {
		slices.SortFunc(list, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
		var t Times
		for _, x := range list {
			t.Add(x[0], x[1])
		}
		merged[rank] = t
	}
	for k, rows := range f.Devices.All() {
		t, known := merged[k.Rank]
		if !known {
			t = merged[op.Int{}]
		}
		busy := int64(0)
		for l := range levels(f, rows) {
			if len(l.running) > 0 {
				busy += t.Within(l.from, l.to)
			}
		}
		ns += t.Within(-trace.MaxTime, trace.MaxTime) - busy
	}
	return ns
}
