package replay_test

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
)

const msec = int64(1_000_000)

// alone simulates servers that take one request after the other, in turn, and returns the sum of the requests.
func alone(scale float64, servers, without int) (specs []tracetest.Spec, sum int64) {
	free := make([]int64, servers)
	n := 0
	for i := range int64(24) {
		if int(i) == without {
			continue
		}
		arrival := i * 9 * msec
		ns := 8*msec + i%3*3*msec
		if i == 5 {
			ns *= 6
		}
		start := max(arrival, free[n%servers])
		end := start + int64(scale*float64(ns))
		in := byte(i + 1)
		specs = append(specs, tracetest.SpanAt("POST", 1, 0, arrival, end).In(in),
			tracetest.OpAt("mlp", 2, 1, start, end).In(in).On("cuda:0"))
		free[n%servers] = end
		sum += end - arrival
		n++
	}
	return specs, sum
}

// pooled simulates two workers with a device each that take requests from one queue, on threads of their own.
func pooled(scale float64) (specs []tracetest.Spec, sum int64) {
	var free [2]int64
	for i := range int64(24) {
		arrival := i * 6 * msec
		w := 0
		if free[1] < free[0] {
			w = 1
		}
		start := max(arrival, free[w])
		free[w] = start + int64(scale*float64(10*msec+i%3*4*msec))
		in := byte(i + 1)
		specs = append(specs, tracetest.SpanAt("POST", 1, 0, arrival, free[w]).In(in),
			tracetest.OpAt("mlp", 2, 1, start, free[w]).In(in).On(fmt.Sprint("cuda:", w)))
		sum += free[w] - arrival
	}
	return specs, sum
}

// tokenized simulates an engine whose requests take a time each before they come to it.
func tokenized(before int64) (specs []tracetest.Spec, sum int64) {
	free := int64(0)
	for i := range int64(24) {
		arrival := i * 10 * msec
		start := max(arrival+before, free)
		free = start + 7*msec + i%3*4*msec
		in := byte(i + 1)
		specs = append(specs, tracetest.SpanAt("POST", 1, 0, arrival, free).In(in),
			tracetest.SpanAt("tokenize", 2, 1, arrival, arrival+before).In(in),
			tracetest.SpanAt("step", 1, 0, start, free).In(50+in).To(in, 1),
			tracetest.OpAt("mlp", 2, 1, start, free).In(50+in).On("cuda:0"))
		sum += free - arrival
	}
	return specs, sum
}

// handedOver simulates an engine for prompts, a transfer, and an engine for the three tokens of all requests that have
// come.
func handedOver(scale float64) (specs []tracetest.Spec, sum int64) {
	const n = 14
	var come, left [n]int64
	step := func(in int, service, device string, start, end int64, of ...int) {
		span := tracetest.SpanAt("step", 1, 0, start, end).In(byte(in)).Of(service)
		for _, r := range of {
			span = span.To(byte(r+1), 1)
		}
		specs = append(specs, span, tracetest.OpAt(service, 2, 1, start, end).In(byte(in)).Of(service).On(device))
	}
	free := int64(0)
	for i := range n {
		start := max(free, int64(i)*10*msec)
		free = start + 4*msec
		step(50+i, "prefill", "cuda:0", start, free, i)
		come[i], left[i] = free+2*msec, 3
		specs = append(specs, tracetest.OpAt("transfer", 2, 1, free, come[i]).In(byte(i+1)).On("cuda:0"))
	}
	for now, k := int64(0), 0; ; k++ {
		var batch []int
		next := int64(1) << 62
		for i := range n {
			if left[i] > 0 && come[i] <= now {
				batch = append(batch, i)
			} else if left[i] > 0 {
				next = min(next, come[i])
			}
		}
		if batch == nil && next == 1<<62 {
			return specs, sum
		}
		if batch == nil {
			now = next
			continue
		}
		end := now + int64(scale*float64(4*msec+2*msec*int64(len(batch))))
		step(100+k, "decode", "cuda:1", now, end, batch...)
		for _, i := range batch {
			if left[i]--; left[i] == 0 {
				specs = append(specs, tracetest.SpanAt("POST", 1, 0, int64(i)*10*msec, end).In(byte(i+1)))
				sum += end - int64(i)*10*msec
			}
		}
		now = end
	}
}

// Servers of single requests and engines that hand over run again: their requests gain what a simulation says.
func TestServersRunAgainWithoutSharedStepsOrWithSeveralEngines(t *testing.T) {
	single, ofSingle := alone(1, 1, -1)
	_, ofHalf := alone(0.5, 1, -1)
	_, ofTwo := alone(1, 2, -1)
	_, ofOthers := alone(1, 1, 5)
	over, ofOver := handedOver(1)
	_, ofFaster := handedOver(0.6)
	pool, ofPool := pooled(1)
	_, ofHalfPool := pooled(0.5)
	before, ofBefore := tokenized(4 * msec)
	_, ofEarly := tokenized(0)
	sixth := fmt.Sprint(tracetest.SpanAt("", 1, 0, 0, 1).In(6).TraceID())
	for change, c := range map[string]struct {
		specs      []tracetest.Spec
		from, want int64
	}{
		"0.5x mlp":                 {single, ofSingle, ofHalf},
		"0.50x mlp":                {pool, ofPool, ofHalfPool},
		"early":                    {before, ofBefore, ofEarly},
		"replicas=2":               {single, ofSingle, ofTwo},
		"without request=" + sixth: {single, ofSingle, ofOthers},
		"0.6x decode":              {over, ofOver, ofFaster},
	} {
		g := replay.New(tracetest.AddTo(trace.New(), c.specs...))
		r := check.Must(g.Run(check.Must(replay.Parse(change))(t)))(t)
		if off := r.Requests.ReplayedSumNS - c.want; r.Requests.SumNS != c.from || max(off, -off) > c.from/50 {
			t.Errorf("%s: %d of %d ns, want %d of %d", change, r.Requests.ReplayedSumNS, r.Requests.SumNS, c.want, c.from)
		}
	}
}
