package deviceclock_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/optrace/optrace/deviceclock"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

// simulated is a device's clock as a function of host time: readings at turning points, and constant rates between
// them.
type simulated struct {
	host   []int64   // start of a rate
	device []float64 // reading at the start, ns
	rate   []float64
}

// shows returns the clock's reading in ns.
func (s *simulated) shows(host int64) float64 {
	i := sort.Search(len(s.host), func(i int) bool { return s.host[i] > host }) - 1
	return s.device[i] + float64(host-s.host[i])*s.rate[i]
}

// at returns the clock's reading in ticks.
func (s *simulated) at(host int64, tick float64) int64 {
	return int64(math.Floor(s.shows(host) / tick))
}

// turn sets the clock's reading and its rate from then on.
func (s *simulated) turn(host int64, rate, show float64) {
	s.host = append(s.host, host)
	s.device = append(s.device, show)
	s.rate = append(s.rate, rate)
}

const second = int64(time.Second)

// scenario is a simulation of 20 seconds with a pair every tenth of a second.
type scenario struct {
	drift, wander float64 // parts per million
	jitter        float64 // ns, mean duration of a reading
	outliers      float64 // share of false pairs
	step, reset   bool
	tick          float64
}

// run returns the clock, its simulation, the time of the last step, and the end.
func (sc scenario) run(rng *rand.Rand) (clock *deviceclock.Clock, sim *simulated, set, end int64) {
	const start = 1_795_000_000_000_000_000
	sim = &simulated{}
	rate := func() float64 { return 1 + (sc.drift+sc.wander*(2*rng.Float64()-1))/1e6 }
	sim.turn(start-second, rate(), 7e15)
	clock = deviceclock.New(deviceclock.Config{TickNanos: sc.tick})
	end = start + 20*second
	set = start
	stepped := false
	reset := false
	for at := int64(start); at < end; at += second/10 + rng.Int64N(second/100) {
		turn := at - rng.Int64N(second/20)
		show := sim.shows(turn)
		switch since := at - start; {
		case sc.step && since/second == 7 && !stepped && rng.IntN(5) == 0:
			stepped = true
			set = at
			show += (rng.Float64() - 0.5) * 4e8
		case sc.reset && since/second == 13 && !reset && rng.IntN(5) == 0:
			reset = true
			set = at
			show = 0
		}
		sim.turn(turn, rate(), show)
		first := int64(rng.ExpFloat64() * sc.jitter)
		second := int64(rng.ExpFloat64() * sc.jitter)
		p := deviceclock.Pair{Before: at, Device: sim.at(at+first, sc.tick), After: at + first + second}
		if rng.Float64() < sc.outliers {
			p.Device -= int64((2e6 + rng.Float64()*5e7) / sc.tick) // an old reading
		}
		clock.Add(p)
	}
	return clock, sim, set, end
}

// For any clock the error of a settled time is within its bound, and the bound is useful. Times after the last step are
// known.
func TestErrorIsBounded(t *testing.T) {
	for name, sc := range map[string]scenario{
		"perfect":       {tick: 1},
		"drift":         {drift: 150, wander: 3, jitter: 2_000, tick: 1},
		"jitter":        {drift: -80, wander: 10, jitter: 60_000, tick: 1},
		"outliers":      {drift: 30, wander: 3, jitter: 3_000, outliers: 0.05, tick: 1},
		"step":          {drift: 30, wander: 3, jitter: 3_000, step: true, tick: 1},
		"reset":         {drift: -30, wander: 3, jitter: 3_000, reset: true, tick: 1},
		"all":           {drift: 400, wander: 5, jitter: 5_000, outliers: 0.02, step: true, reset: true, tick: 1},
		"coarse ticks":  {drift: 20, wander: 2, jitter: 1_000, reset: true, tick: 41.6666},
		"microseconds":  {drift: 20, wander: 2, jitter: 1_000, step: true, tick: 1000},
		"tenths of a s": {drift: 20, wander: 2, jitter: 1_000, tick: 1e8},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range cases.Numbers(t, 20) {
				rng := rand.New(rand.NewPCG(seed, 1))
				clock, sim, set, end := sc.run(rng)
				known := 0
				settled := 0
				close := 0
				for range 3000 {
					host := end - 20*second + rng.Int64N(20*second)
					launch := host - rng.Int64N(second/200)
					got, ok := clock.Unix(sim.at(host, sc.tick), launch, end)
					if !ok && launch > set+second/2 { // later pairs may lie
						t.Fatalf("seed %d: no time at %d", seed, host-end)
					}
					if ok {
						known++
					}
					if !got.Settled {
						continue
					}
					settled++
					off := got.Unix - host
					if max(off, -off) > got.Error {
						t.Fatalf("seed %d: off by %d at %.3f s before the end, bound %d, %+v", seed, off,
							float64(end-host)/1e9, got.Error, clock.Stats())
					}
					if float64(got.Error) < 10_000+5*sc.jitter+2*sc.tick {
						close++
					}
				}
				if settled < known*5/6 || close < settled*9/10 {
					t.Errorf("seed %d: of %d times %d are settled and %d close, %+v", seed, known, settled, close,
						clock.Stats())
				}
			}
		})
	}
}

// Steps, resets and outliers are distinguished and counted.
func TestBadPairsAreCounted(t *testing.T) {
	clock := deviceclock.New(deviceclock.Config{})
	at := int64(1_000_000_000_000)
	add := func(device, width int64) {
		clock.Add(deviceclock.Pair{Before: at, Device: device, After: at + width})
		at += second / 10
	}
	for i := range int64(5) {
		add(i*second/10, 1000)
	}
	add(5*second/10-5_000_000, 1000) // outlier
	add(6*second/10, 1000)
	clock.Add(deviceclock.Pair{Before: at - 3_000_000, Device: 7 * second / 10, After: at + 3_000_000}) // slow
	at += second / 10
	add(70*second, 1000)          // step
	add(70*second+second/10, 500) // agrees
	add(3, 500)                   // restart
	add(3+second/10, 500)
	clock.Add(deviceclock.Pair{Before: at, Device: 5, After: at - 1})
	clock.Add(deviceclock.Pair{Before: 5, Device: 5, After: 6})
	got := clock.Stats()
	want := deviceclock.Stats{Pairs: 10, Wide: 1, Outliers: 1, Invalid: 2, Steps: 2}
	check.Equal(t, "", want, got)
	if _, ok := clock.Unix(400*second, 0, at); ok {
		t.Error("a time long after the end is known")
	}
	err := clock.Sample(func() (int64, error) { return 0, errors.New("lost") })
	if err == nil || clock.Stats().Pairs != 10 {
		t.Error("a reading that fails is a pair")
	}
}

// A time possibly before a restart is unknown. A later time is known.
func TestTimesThatComeAgain(t *testing.T) {
	clock := deviceclock.New(deviceclock.Config{})
	base := int64(1_000_000_000_000)
	for _, start := range []int64{base, base + 100*second} {
		for i := range int64(10) {
			clock.Add(deviceclock.Pair{Before: start + i*second, Device: i * second, After: start + i*second + 1000})
		}
	}
	if got, ok := clock.Unix(5*second, base, base+200*second); ok {
		t.Errorf("nothing known of when it was: %+v", got)
	}
	want := base + 105*second
	got, ok := clock.Unix(5*second, base+100*second, base+200*second)
	if !ok || got.Unix < want || got.Unix > want+1000 || got.Error > 2000 {
		t.Errorf("%+v %v, want %d", got, ok, want)
	}
}

// The times of a stream do not go back, and the bound holds.
func TestStreamIsMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	sim := &simulated{}
	start := int64(1_000_000_000_000)
	sim.turn(start, 1.0004, 5e12)
	clock := deviceclock.New(deviceclock.Config{})
	stream := clock.Stream()
	clock.Add(deviceclock.Pair{Before: start, Device: sim.at(start, 1), After: start})
	last := int64(0)
	shifted := 0
	for host := start + 1; host < start+5*second; host += rng.Int64N(second / 1000) {
		if rng.IntN(50) == 0 {
			first := int64(rng.ExpFloat64() * 20_000)
			second := int64(rng.ExpFloat64() * 20_000)
			clock.Add(deviceclock.Pair{Before: host, Device: sim.at(host+first, 1), After: host + first + second})
		}
		plain, _ := clock.Unix(sim.at(host, 1), 0, math.MaxInt64)
		got, ok := stream.Unix(sim.at(host, 1), 0, math.MaxInt64)
		if off := got.Unix - host; !ok || got.Unix < last || max(off, -off) > got.Error {
			t.Fatalf("at %d: %+v %v after %d", host, got, ok, last)
		}
		if got.Unix != plain.Unix {
			shifted++
		}
		last = got.Unix
	}
	if shifted == 0 {
		t.Error("no time was ever held back")
	}
	before := clock.Stats().Backward
	got, ok := stream.Unix(sim.at(start+second, 1), 0, math.MaxInt64)
	if !ok || got.Unix != last || clock.Stats().Backward != before+1 {
		t.Errorf("a clock that runs backward: %+v %v, %+v", got, ok, clock.Stats())
	}
}

// The clock does not panic without pairs or for any numbers, and forgets old pairs.
func TestExtremes(t *testing.T) {
	numbers := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, 1 << 53, math.MaxInt64 - 1, math.MaxInt64}
	rng := rand.New(rand.NewPCG(5, 6))
	pick := func() int64 { return numbers[rng.IntN(len(numbers))] }
	for _, cfg := range []deviceclock.Config{
		{}, {TickNanos: math.NaN(), MaxDrift: -1, Wander: math.Inf(1)}, {TickNanos: 1e300}, {TickNanos: 1e-300},
	} {
		clock := deviceclock.New(cfg)
		if _, ok := clock.Unix(0, math.MinInt64, math.MaxInt64); ok {
			t.Error("a clock without pairs knows a time")
		}
		stream := clock.Stream()
		for range 5000 {
			clock.Add(deviceclock.Pair{Before: pick(), Device: pick(), After: pick()})
			if got, ok := stream.Unix(pick(), pick(), pick()); ok && got.Error < 0 {
				t.Fatalf("%+v", got)
			}
		}
	}
}

func TestClockConcurrentSafe(*testing.T) {
	clock := deviceclock.New(deviceclock.Config{})
	begin := time.Now()
	read := func() (int64, error) { return int64(time.Since(begin)), nil }
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			stream := clock.Stream()
			for range 500 {
				_ = clock.Sample(read)
				d, _ := read()
				stream.Unix(d, 0, math.MaxInt64)
				clock.Stats()
			}
		})
	}
	wg.Wait()
}
