package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/ebitengine/purego"
	"github.com/hybridgroup/yzma/pkg/llama"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sys/unix"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/price"
	"github.com/optrace/optrace/contrib/ggml"
	"github.com/optrace/optrace/examples/internal/completions"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/llamacpp"
	"github.com/optrace/optrace/op"
)

// arrival is a request of a mix.
type arrival struct {
	at             int64 // ns
	prompt, answer int   // tokens
}

// newMix returns six to ten requests, one of them with a long prompt, and the request to leave out: the long one, or
// any for an odd seed.
func newMix(seed uint64) (mix []arrival, culprit int) {
	r := rand.New(rand.NewPCG(seed, 61))
	at := int64(0)
	for range 6 + r.IntN(5) {
		mix = append(mix, arrival{at, 16 + r.IntN(80), 4 + r.IntN(20)})
		at += r.Int64N(60_000_000)
	}
	culprit = 1 + r.IntN(len(mix)-2)
	mix[culprit].prompt = 256 + r.IntN(512)
	if seed%2 == 1 {
		culprit = r.IntN(len(mix))
	}
	return mix, culprit
}

// mixer plays mixes. Its clock is the time of the engine's thread on a processor, and time without requests: other
// programs of the machine do not count.
type mixer struct {
	*optrace.SDK // of the current run
	model        *model
	skipped      int64
	moments      [][2]int64 // Unix time and the clock's time
}

func (m *mixer) Recorder(ctx context.Context) *optrace.Recorder { return m.Processor().Recorder(ctx) }

func (m *mixer) now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // has no error
	m.moments = append(m.moments, [2]int64{time.Now().UnixNano(), t.Nano() + m.skipped})
	return t.Nano() + m.skipped
}

// attach attaches a hook that also reads the clock around each operation.
func (m *mixer) attach(params *llama.ContextParams) (*ggml.Hook, error) {
	hook, err := ggml.Attach(params, m, ggml.EveryOperation)
	record := params.CbEval
	params.CbEval = purego.NewCallback(func(node uintptr, ask bool, data uintptr) bool {
		asked := uintptr(0)
		if ask {
			asked = 1
		}
		m.now()
		result, _, _ := purego.SyscallN(record, node, asked, data)
		m.now()
		return result&1 != 0
	})
	return hook, err
}

// clocked returns a Unix time by the clock.
func (m *mixer) clocked(at int64) int64 {
	i := sort.Search(len(m.moments)-2, func(i int) bool { return m.moments[i+1][0] >= at })
	from, to := m.moments[i], m.moments[i+1]
	part := float64(at-from[0]) / float64(max(1, to[0]-from[0]))
	return int64(1e18) + from[1] - m.moments[0][1] + int64(part*float64(to[1]-from[1]))
}

// played is the report of a mix, with the number of each request by its trace.
type played struct {
	*correlate.Report
	numbers map[op.TraceID]int
	busy    float64
}

func (p *played) duration(number int) float64 {
	for i := range p.Requests {
		if q := &p.Requests[i]; p.numbers[q.TraceID] == number {
			return float64(q.DurationNS.V)
		}
	}
	return math.NaN()
}

// play runs a mix without one request, or with all for -1.
func (m *mixer) play(t *testing.T, mix []arrival, without int) *played {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ops.jsonl")
	m.SDK = check.Must(optrace.Setup(file))(t)
	m.moments = nil
	batcher := newEngine(m.SDK, m.model)
	tracer := m.TracerProvider().Tracer("example.com/llama")
	type served struct {
		*completions.Sequence
		root trace.Span
	}
	p := &played{numbers: make(map[op.TraceID]int)}
	var waiting, batch []served
	slots := []int{0, 1, 2, 3}
	start := m.now()
	for next, number := 0, int64(0); ; number++ {
		for ; next < len(mix); next++ {
			if next == without {
				continue
			}
			if early := start + mix[next].at - m.now(); early > 0 {
				if len(waiting)+len(batch) > 0 {
					break
				}
				m.skipped += early
				m.now()
			}
			ctx, root := tracer.Start(context.Background(), "POST", trace.WithSpanKind(trace.SpanKindServer))
			p.numbers[op.TraceID(root.SpanContext().TraceID())] = next
			s := batcher.NewSequence(ctx, strings.Repeat("o", mix[next].prompt), mix[next].answer)
			waiting = append(waiting, served{s, root})
		}
		for len(waiting) > 0 && len(slots) > 0 {
			waiting[0].Slot = slots[0]
			waiting[0].Enter("prefill")
			batch = append(batch, waiting[0])
			waiting = waiting[1:]
			slots = slots[1:]
		}
		if len(batch) == 0 {
			break
		}
		var sequences []*completions.Sequence
		for _, s := range batch {
			sequences = append(sequences, s.Sequence)
		}
		check.OK(t, batcher.Step(number, sequences))
		m.now()
		batch = slices.DeleteFunc(batch, func(s served) bool {
			if s.Left == 0 {
				s.Phase.End()
				s.root.End()
				check.OK(t, batcher.Leave(s.Sequence))
				slots = append(slots, s.Slot)
			}
			return s.Left == 0
		})
	}
	m.now()
	check.OK(t, m.Shutdown(t.Context()))
	join := correlate.NewJoin()
	for rec, err := range ingest.Open(file).Records() {
		check.OK(t, err)
		move := func(start, duration *int64) {
			end := m.clocked(*start + *duration)
			*start = m.clocked(*start)
			*duration = end - *start
		}
		if rec.Entry != nil {
			move(&rec.Entry.Start.V, &rec.Entry.Duration)
			p.busy += float64(rec.Entry.Duration)
		} else if rec.Span != nil {
			move(&rec.Span.Start.V, &rec.Span.Duration)
		}
		join.AddLocal(rec)
	}
	p.Report = join.Report(correlate.Options{Price: &price.Table{Devices: []price.Device{{PerHour: 1}}}})
	return p
}

// middle returns the median of a figure.
func middle(all []*played, of func(*played) float64) float64 {
	list := make([]float64, len(all))
	for i, p := range all {
		list[i] = of(p)
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// The truth about a request is the same mix without it. docs/replay.md has the errors.
func TestARequestCostsWhatLeavingItOutSaves(t *testing.T) {
	cases.NotUnderRace(t, "measures time")
	if _, err := llamacpp.Libraries(t.Context(), t.Output()); err != nil {
		t.Skipf("needs the libraries of llama.cpp, which could not be fetched: %v", err)
	}
	most := 0.15
	if !cases.All() {
		most = 0.4 // of five mixes with a long prompt, on a busy machine
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m := &mixer{}
	m.model = check.Must(loadModel(t.Context(), config{threads: 1, batch: 256}, m.attach, t.Output()))(t)
	defer m.model.close()
	var prices, delays, pairs []float64 // errors, and those of one pair of runs against the medians
	for n := range cases.Some(t, 5, 200) {
		seed := uint64(n)
		if !cases.All() {
			seed &^= 1
		}
		mix, culprit := newMix(seed)
		var with, without []*played
		for range cases.Count(t, 1, 3) {
			with = append(with, m.play(t, mix, -1))
			without = append(without, m.play(t, mix, culprit))
		}
		busy := func(p *played) float64 { return p.busy }
		saved := middle(with, func(p *played) float64 {
			i := slices.IndexFunc(p.Requests, func(q correlate.Request) bool { return p.numbers[q.TraceID] == culprit })
			return float64(p.Requests[i].Charge.SavedNS.V)
		})
		truth := middle(with, busy) - middle(without, busy)
		prices = append(prices, math.Abs(saved/truth-1))
		var said, waited, paired float64
		for victim := range mix {
			took := middle(with, func(p *played) float64 { return p.duration(victim) })
			delay := took - middle(without, func(p *played) float64 { return p.duration(victim) })
			blamed := middle(with, func(p *played) (ns float64) {
				for _, b := range p.Blame {
					if b.Culprit != nil && p.numbers[b.Victim.TraceID] == victim && p.numbers[b.Culprit.TraceID] == culprit {
						ns += float64(b.NS)
					}
				}
				return ns
			})
			if victim != culprit && max(delay, blamed) > 0.05*took {
				waited += delay
				said += blamed
				paired += with[0].duration(victim) - without[0].duration(victim)
			}
		}
		if seed%2 == 0 && waited > 0 {
			delays = append(delays, math.Abs(said/waited-1))
			pairs = append(pairs, math.Abs(paired/waited-1))
		}
		t.Logf("mix %d without %d: saves %.3g ns, truly %.3g; delays %.3g, truly %.3g", seed, culprit, saved, truth,
			said, waited)
	}
	for name, errors := range map[string][]float64{
		"price": prices, "delays by a long prompt": delays, "truth from one pair of runs": pairs,
	} {
		slices.Sort(errors)
		n := len(errors)
		if n == 0 {
			continue
		}
		within, _ := slices.BinarySearch(errors, 0.15)
		t.Log(name, fmt.Sprintf("median error %.3f, quartiles %.3f and %.3f, %d of %d within 15 %%", errors[n/2],
			errors[n/4], errors[3*n/4], within, n))
		if errors[n/2] > most {
			t.Errorf("%s: the median error is %.3f", name, errors[n/2])
		}
	}
}
