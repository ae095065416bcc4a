package replay_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
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

// pooled simulates two workers with a device each that take requests from one queue, on threads of their own. A worker
// reads a request before its operation.
func pooled(scale float64, reads int64) (specs []tracetest.Spec, sum int64) {
	var free [2]int64
	for i := range int64(24) {
		arrival := i * 6 * msec
		w := 0
		if free[1] < free[0] {
			w = 1
		}
		taken := max(arrival, free[w])
		start := taken + reads
		free[w] = start + int64(scale*float64(10*msec+i%3*4*msec))
		in := byte(i + 1)
		specs = append(specs, tracetest.SpanAt("POST", 1, 0, arrival, free[w]).In(in),
			tracetest.SpanAt("queue", 2, 1, arrival, taken).In(in),
			tracetest.OpAt("mlp", 3, 1, start, free[w]).In(in).On(fmt.Sprint("cuda:", w)))
		if reads > 0 {
			specs = append(specs, tracetest.SpanAt("read", 4, 1, taken, start).In(in))
		}
		sum += free[w] - arrival
	}
	return specs, sum
}

// whole simulates an engine that reads all waiting prompts, padded to the longest, and writes tokens until the longest
// answer is done. Each pass is a span, and the host works between them.
func whole(scale float64, host int64) (specs []tracetest.Spec, sum int64) {
	const n = 80
	free, read := int64(0), 0
	for k := 0; read < n; k++ {
		now := max(free, int64(read)*8*msec)
		var batch []int64
		for ; read < n && int64(read)*8*msec <= now; read++ {
			batch = append(batch, int64(read))
		}
		var longest, most int64
		for _, i := range batch {
			longest = max(longest, 10+i*7%5*8)
			most = max(most, 2+i*5%7*2)
		}
		span := tracetest.SpanAt("step", 1, 0, now, 0).In(byte(100 + k))
		free = now
		for step := range most {
			ns := 500_000 * int64(len(batch))
			if step == 0 {
				ns = longest * int64(len(batch)) * 50_000
			}
			end := free + int64(scale*float64(ns+500_000))
			in, pass := byte(100+k), uint64(10+2*step)
			specs = append(specs, tracetest.SpanAt("pass", pass, 1, free, end).In(in),
				tracetest.OpAt("mlp", pass+1, pass, free, end).In(in).InStep(int64(1000*k)+step))
			free = end + host
		}
		for _, i := range batch {
			span = span.To(byte(i+1), 1)
			root := tracetest.SpanAt("POST", 1, 0, i*8*msec, free).In(byte(i + 1))
			specs = append(specs, root.Tokens(10+i*7%5*8, 2+i*5%7*2))
			sum += free - i*8*msec
		}
		span.End = free
		specs = append(specs, span)
	}
	return specs, sum
}

// tokenized simulates an engine whose requests take a time each before they come to it.
func tokenized(before int64) (specs []tracetest.Spec, sum int64) {
	free := int64(0)
	for i := range int64(24) {
		arrival := i * 10 * msec
		start := max(arrival+before, free)
		free = start + 8*msec + i%3*4*msec
		in := byte(i + 1)
		specs = append(specs, tracetest.SpanAt("POST", 1, 0, arrival, free).In(in),
			tracetest.SpanAt("tokenize", 2, 1, arrival, arrival+before).In(in),
			tracetest.SpanAt("step", 1, 0, start, free).In(50+in).To(in, 1),
			tracetest.OpAt("mlp", 2, 1, start, free).In(50+in).On("cuda:0"))
		sum += free - arrival
	}
	return specs, sum
}

// windowed simulates an engine that waits up to a window for others to join the first request of a batch of at most four.
// Its host works before and behind the operation of a batch, and for longer in the third batch.
func windowed(window, host, pause int64) (specs []tracetest.Spec, sum int64) {
	const n = 60
	arrival := func(i int) int64 { return int64(i)*4*msec + int64(i*i%7)*msec/2 + int64(i*i%11)*7_000 }
	free, read := int64(0), 0
	for k := byte(0); read < n; k++ {
		first := read
		start := max(free, arrival(first)+window)
		if first+3 < n {
			start = min(start, max(free, arrival(first+3)))
		}
		for ; read < n && read < first+4 && arrival(read) <= start; read++ {
		}
		span := tracetest.SpanAt("step", 1, 0, start, 0).In(100 + k)
		begin := start + host
		if k == 2 {
			begin += pause
		}
		end := begin + 2*msec + int64(read-first)*msec
		free = end + host
		for i := first; i < read; i++ {
			in := byte(i + 1)
			span = span.To(in, 1)
			specs = append(specs, tracetest.SpanAt("POST", 1, 0, arrival(i), free).In(in))
			sum += free - arrival(i)
		}
		span.End = free
		specs = append(specs, span, tracetest.OpAt("mlp", 2, 1, begin, end).In(100+k))
	}
	return specs, sum
}

// handedOver simulates an engine for prompts, a transfer, as an operation or, if negative, a span, and an engine for
// the three tokens of all requests that have come. The host of this one pauses behind each eighth step, and between the
// two operations of each seventh.
func handedOver(scale float64, transfer, behind, within int64) (specs []tracetest.Spec, sum int64) {
	const n = 14
	var come, left [n]int64
	step := func(in int, service, device string, start, pause, end int64, of ...int) {
		span := tracetest.SpanAt("step", 1, 0, start, end).In(byte(in)).Of(service)
		for _, r := range of {
			span = span.To(byte(r+1), 1)
		}
		middle := start + (end-start-pause)/2
		specs = append(specs, span, tracetest.OpAt(service, 2, 1, start, middle).In(byte(in)).Of(service).On(device),
			tracetest.OpAt(service, 3, 1, middle+pause, end).In(byte(in)).Of(service).On(device))
	}
	free := int64(0)
	for i := range n {
		start := max(free, int64(i)*10*msec)
		free = start + 4*msec
		step(50+i, "prefill", "cuda:0", start, 0, free, i)
		come[i], left[i] = free+max(transfer, -transfer), 3
		if transfer < 0 {
			specs = append(specs, tracetest.SpanAt("transfer", 2, 1, free, come[i]).In(byte(i+1)))
		} else {
			specs = append(specs, tracetest.OpAt("transfer", 2, 1, free, come[i]).In(byte(i+1)).On("cuda:0"))
		}
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
		pause := int64(0)
		if k%7 == 4 {
			pause = within
		}
		end += pause
		step(100+k, "decode", "cuda:1", now, pause, end, batch...)
		for _, i := range batch {
			if left[i]--; left[i] == 0 {
				specs = append(specs, tracetest.SpanAt("POST", 1, 0, int64(i)*10*msec, end).In(byte(i+1)))
				sum += end - int64(i)*10*msec
			}
		}
		if now = end + msec/10; k%8 == 5 {
			now += behind
		}
	}
}

// called simulates a gateway that calls a search, unless it knows the answer, and then a model. The model serves one request
// after the other, and works on the host before each token.
func called(scale float64, host int64) (specs []tracetest.Spec, sum int64) {
	const way = msec / 4
	var free [2]int64
	for i := range int64(48) {
		arrival := i*28*msec + i%5*4*msec
		at := arrival
		in := byte(i + 1)
		id := uint64(2)
		call := func(n int, service, name string, tokens, each, before int64) {
			begin := at + way
			at = max(begin, free[n])
			client, server := id, id+1
			id += 2
			for range tokens {
				at += before
				specs = append(specs, tracetest.OpAt(name, id, server, at, at+each).In(in).Of(service).On("cuda:0"))
				at += each
				id++
			}
			free[n] = at
			specs = append(specs, tracetest.SpanAt("POST", client, 1, begin-way, at+way).In(in).Of("gateway"),
				tracetest.SpanAt("POST /"+name, server, client, begin, at).In(in).Of(service))
			at += way
		}
		if i%5 < 2 {
			call(0, "search", "topk", 1, 6*msec+i%3*3*msec, 0)
		}
		call(1, "writer", "decode", 4, int64(scale*float64(3*msec)), host)
		specs = append(specs, tracetest.SpanAt("POST /ask", 1, 0, arrival, at).In(in).Of("gateway"))
		sum += at - arrival
	}
	return specs, sum
}

// Servers of single requests and engines that hand over run again: their requests gain what a simulation says.
func TestServersRunAgainWithoutSharedStepsOrWithSeveralEngines(t *testing.T) {
	single, ofSingle := alone(1, 1, -1)
	_, ofHalf := alone(0.5, 1, -1)
	_, ofTwo := alone(1, 2, -1)
	_, ofOthers := alone(1, 1, 5)
	over, ofOver := handedOver(1, 2*msec, 0, 0)
	_, ofFaster := handedOver(0.6, 2*msec, 0, 0)
	stops, ofStops := handedOver(1, 2*msec, 23*msec, 0)
	collects, ofCollects := handedOver(1, 2*msec, 0, 20*msec)
	copies, ofCopies := handedOver(1, 31*msec, 0, 0)
	spans, ofSpans := handedOver(1, -31*msec, 0, 0)
	_, ofNone := handedOver(1, 0, 0, 0)
	pool, ofPool := pooled(1, 3*msec)
	_, ofHalfPool := pooled(0.5, 3*msec)
	_, ofSlowPool := pooled(2, 3*msec)
	_, ofIdlePool := pooled(1, 0)
	batches, ofBatches := whole(1, 300_000)
	_, ofFasterBatches := whole(0.9, 300_000)
	windows, ofWindows := windowed(5*msec, msec/2, 0)
	_, ofNoWindows := windowed(0, msec/2, 0)
	_, ofShortWindows := windowed(2*msec, msec/2, 0)
	_, ofNoHost := windowed(5*msec, 0, 0)
	paused, ofPaused := windowed(5*msec, msec/2, 50*msec)
	before, ofBefore := tokenized(4 * msec)
	_, ofEarly := tokenized(0)
	sixth := fmt.Sprint(tracetest.SpanAt("", 1, 0, 0, 1).In(6).TraceID())
	_, ofHost := whole(1, 150_000)
	services, ofServices := called(1, 5*msec)
	_, ofFasterHost := called(1, 5*msec/10)
	_, ofFasterModel := called(0.5, 5*msec)
	for change, c := range map[string]struct {
		specs      []tracetest.Spec
		from, want int64
	}{
		"window=0s":                {windows, ofWindows, ofNoWindows},
		"window=2ms":               {windows, ofWindows, ofShortWindows},
		"host 0.0x":                {windows, ofWindows, ofNoHost},
		"pauses ":                  {paused, ofPaused, ofWindows},
		" pauses":                  {stops, ofStops, ofOver},
		" pauses ":                 {collects, ofCollects, ofOver},
		"pauses":                   {batches, ofBatches, ofBatches},
		"host 0.5x":                {batches, ofBatches, ofHost},
		"0.5x mlp":                 {single, ofSingle, ofHalf},
		"0.50x mlp":                {pool, ofPool, ofHalfPool},
		"2x mlp":                   {pool, ofPool, ofSlowPool},
		"host 0x":                  {pool, ofPool, ofIdlePool},
		"0.9x mlp":                 {batches, ofBatches, ofFasterBatches},
		"early":                    {before, ofBefore, ofEarly},
		"replicas=2":               {single, ofSingle, ofTwo},
		"without request=" + sixth: {single, ofSingle, ofOthers},
		"0.6x decode":              {over, ofOver, ofFaster},
		"remove transfer":          {copies, ofCopies, ofNone},
		"remove transfer ":         {spans, ofSpans, ofNone},
		"host 0.1x service=writer": {services, ofServices, ofFasterHost},
		"0.5x decode":              {services, ofServices, ofFasterModel},
	} {
		for i, specs := range [2][]tracetest.Spec{c.specs, early(c.specs)} {
			f := trace.New()
			f.KeepAttrs(engines.Keys()...)
			g := replay.New(tracetest.AddTo(f, specs...))
			r := check.Must(g.Run(check.Must(replay.Parse(change))(t)))(t)
			off := r.Requests.ReplayedSumNS - c.want
			if i == 0 && r.Requests.SumNS != c.from || max(off, -off) > c.from/50 {
				t.Errorf("%s, %d: %d of %d ns, want %d of %d", change, i, r.Requests.ReplayedSumNS, r.Requests.SumNS,
					c.want, c.from)
			}
		}
	}
}

// early returns specs some of which end a microsecond early, as in a format with starts and durations in whole ones.
func early(specs []tracetest.Spec) []tracetest.Spec {
	specs = slices.Clone(specs)
	for i := range specs {
		if (i+i/7)%2 == 0 && specs[i].End > specs[i].Start {
			specs[i].End -= 1_000
		}
	}
	return specs
}

// A worker of an unknown device is compared with none.
func TestWorkersOfUnknownDevicesAreNotCompared(t *testing.T) {
	specs, _ := pooled(1, 0)
	for i := range specs {
		if specs[i].Device == "cuda:1" {
			specs[i].Device = ""
		}
	}
	g := replay.New(tracetest.AddTo(trace.New(), specs...))
	if all := g.Replicas(); len(all) != 1 {
		t.Errorf("workers: %v", all)
	}
}

// copying returns a worker that reads each request into the device on a thread of its own and waits for the copy. Its span
// behind the copy has no thread.
func copying(took int64) (f *trace.Forest, sum int64) {
	f = trace.New()
	for i := range byte(10) {
		at := int64(i) * 60 * msec
		copied := at + msec + took
		launched := func(o tracetest.Spec, launch, call int64) {
			e := o.In(i + 1).OnStream(7).LaunchedAt(launch).Entry()
			e.Attrs = append(e.Attrs, op.Attr{Key: "thread.id", Type: op.AttrInt, Value: "71"},
				op.Attr{Key: "tensor.launch.duration", Type: op.AttrInt, Value: fmt.Sprint(call)})
			f.Add(op.Record{Entry: e})
		}
		end := copied + 20*msec
		tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, at, end).In(i+1),
			tracetest.SpanAt("read", 2, 1, at, at+msec).In(i+1), tracetest.SpanAt("denoise", 3, 1, copied, end).In(i+1))
		memcpy := tracetest.OpAt("Memcpy HtoD (Pageable -> Device)", 4, 1, at+msec+5_000, copied-2_000)
		launched(memcpy.As(op.KindMemory), at+msec, took)
		launched(tracetest.OpAt("unet", 5, 3, copied+5_000, end), copied, 4_000)
		sum += end - at
	}
	return f, sum
}

// A span of a request goes on behind the last launch of the request by another thread.
func TestSpansOfARequestWaitForItsThreads(t *testing.T) {
	slow, ofSlow := copying(10 * msec)
	_, ofFast := copying(5 * msec)
	r := check.Must(replay.New(slow).Run(check.Must(replay.Parse("0.5x kind=memory"))(t)))(t)
	if off := r.Requests.ReplayedSumNS - ofFast; r.Requests.SumNS != ofSlow || max(off, -off) > ofSlow/1_000 {
		t.Errorf("%d of %d ns, want %d of %d", r.Requests.ReplayedSumNS, r.Requests.SumNS, ofFast, ofSlow)
	}
}
