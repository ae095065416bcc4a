package findings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/op"
)

const ms = int64(1_000_000)

// spanAt returns a span, and matmulAt an operation below it.
func spanAt(name, service string, id op.TraceID, at, ns int64, links ...op.Link) op.Record {
	return op.Record{Span: &op.Span{
		Name: name, Service: service, TraceID: id, SpanID: op.SpanID{1}, Start: op.Known(at), Duration: ns, Links: links,
	}}
}

func matmulAt(service string, id op.TraceID, at, ns int64) op.Record {
	return op.Record{Entry: &op.Entry{
		Operation: "matmul", Kind: op.KindCompute, DeviceID: "cuda:" + service, Service: service, Start: op.Known(at),
		Duration: ns, TraceID: id, ParentSpanID: op.SpanID{1}, SpanID: op.SpanID{3},
	}}
}

// stepping returns four requests in 60 steps of 1 ms. Each begins with the host's time, each twentieth with a rare one.
func stepping(usual, rare int64) (records []op.Record) {
	at := 1_000 * ms
	var links []op.Link
	for i := range byte(4) {
		links = append(links, op.Link{TraceID: op.TraceID{1, i}, SpanID: op.SpanID{1}, Weight: op.Known(int64(1))})
	}
	for step := range 60 {
		ns, id := usual, op.TraceID{2, byte(step)}
		if step%20 == 19 {
			ns = rare
		}
		records = append(records, spanAt("step", "", id, at, ns+ms, links...), matmulAt("", id, at+ns, ms))
		at += ns + ms
	}
	for _, l := range links {
		records = append(records, spanAt("POST", "", l.TraceID, 1_000*ms, at-1_000*ms))
	}
	return records
}

// unweighted returns 20 requests, two at a time, in steps with links without weights. The first step of one takes
// 200 ms.
func unweighted() (records []op.Record) {
	at := 1_000 * ms
	request := func(i int) op.TraceID { return op.TraceID{1, byte(i)} }
	var began [21]int64
	for i := range 20 {
		for k, ns := range [2]int64{8 * ms, 2 * ms} {
			id := op.TraceID{2, byte(i), byte(k)}
			if k == 0 {
				began[i] = at
			}
			if i == 9 && k == 0 {
				ns = 200 * ms
			}
			links := []op.Link{{TraceID: request(i), SpanID: op.SpanID{1}}}
			if i > 0 {
				links = append(links, op.Link{TraceID: request(i - 1), SpanID: op.SpanID{1}})
			}
			records = append(records, spanAt("step", "", id, at, ns, links...))
			for n := range int64(2) {
				work := matmulAt("", id, at+n*ns/2, ns/2)
				work.Entry.SpanID = op.SpanID{3, byte(n)}
				records = append(records, work)
			}
			at += ns
		}
		if i > 0 {
			records = append(records, spanAt("POST", "", request(i-1), began[i-1], at-began[i-1]))
		}
	}
	return append(records, spanAt("POST", "", request(19), began[19], at-began[19]))
}

// collecting returns steps of three operations. The host stops for 40 ms within some of them.
func collecting() (records []op.Record) {
	for _, rec := range stepping(0, 40*ms) {
		if rec.Entry == nil {
			records = append(records, rec)
			continue
		}
		step := int64(rec.Entry.TraceID[1])
		at := (1_000 + step + 40*(step/20)) * ms
		for k := range byte(3) {
			one := *rec.Entry
			one.SpanID = op.SpanID{3, k}
			one.Start = op.Known(at)
			one.Duration = ms * 3 / 10
			records = append(records, op.Record{Entry: &one})
			if at += one.Duration + 2_000; step%20 == 19 && k == 1 {
				at += 40 * ms
			}
		}
	}
	return records
}

// sampling returns steps that end with a copy of half a millisecond to the host.
func sampling() (records []op.Record) {
	for _, rec := range stepping(ms/2, ms/2) {
		records = append(records, rec)
		if rec.Entry == nil {
			continue
		}
		dense := *rec.Entry
		copied := *rec.Entry
		dense.Duration = ms / 2
		copied.Operation = "Memcpy DtoH (Device -> Pageable)"
		copied.Kind = op.KindMemory
		copied.SpanID = op.SpanID{4}
		copied.Start = op.Known(dense.Start.V + ms/2)
		copied.Duration = ms / 2
		copied.MemoryBytes = op.Known(int64(2 << 20))
		records = append(records[:len(records)-1], op.Record{Entry: &dense}, op.Record{Entry: &copied})
	}
	return records
}

// locked returns two engines, each with two requests and steps of 1 ms on a device, one step after the other.
func locked() (records []op.Record) {
	for step := range 120 {
		at := (1_000 + int64(step)) * ms
		engine := byte(step % 2)
		var links []op.Link
		for i := range byte(2) {
			links = append(links, op.Link{TraceID: op.TraceID{1, engine, i}, SpanID: op.SpanID{1}})
		}
		id := op.TraceID{2, byte(step)}
		service := fmt.Sprint("engine", engine)
		dense := matmulAt(service, id, at, ms)
		dense.Entry.DeviceID = fmt.Sprint("cuda:", engine)
		records = append(records, spanAt("step", service, id, at, ms, links...), dense)
	}
	for i := range byte(4) {
		records = append(records, spanAt("POST", "", op.TraceID{1, i / 2, i % 2}, 1_000*ms, 120*ms))
	}
	return records
}

// searching returns forty requests with an operation of unknown work: each tenth takes 200 ms, and the others 10 ms.
func searching() (records []op.Record) {
	at := 1_000 * ms
	for i := range byte(40) {
		ns := 10 * ms
		if i%10 == 9 {
			ns = 200 * ms
		}
		id := op.TraceID{5, i}
		search := matmulAt("", id, at, ns)
		search.Entry.Operation = "search"
		search.Entry.OutputElements = op.Known(int64(50))
		records = append(records, spanAt("POST", "", id, at-ms, ns+2*ms), search)
		at += ns + 5*ms
	}
	return records
}

// calling returns twenty requests that call a service for 60 ms, from 10 ms after the call on, and get the answer 30 ms late.
func calling() (records []op.Record) {
	for i := range byte(20) {
		id := op.TraceID{6, i}
		at := (1_000 + 200*int64(i)) * ms
		request := spanAt("POST", "gateway", id, at, 102*ms)
		call := spanAt("call", "gateway", id, at+ms, 100*ms)
		served := spanAt("infer", "model", id, at+11*ms, 60*ms)
		dense := matmulAt("model", id, at+12*ms, 58*ms)
		call.Span.SpanID = op.SpanID{2}
		call.Span.ParentSpanID = op.SpanID{1}
		served.Span.SpanID = op.SpanID{3}
		served.Span.ParentSpanID = op.SpanID{2}
		dense.Entry.SpanID = op.SpanID{4}
		dense.Entry.ParentSpanID = op.SpanID{3}
		records = append(records, request, call, served, dense)
	}
	return records
}

// parsing returns twenty requests that spend 10 ms in a span before 10 ms on a device, which is always busy. One fails.
func parsing() (records []op.Record) {
	for i := range byte(20) {
		id := op.TraceID{3, i}
		at := (1_000 + 10*int64(i)) * ms
		request, tokenize := spanAt("POST", "", id, at, 20*ms), spanAt("tokenize", "", id, at, 10*ms)
		request.Span.Failed = i == 7
		tokenize.Span.SpanID, tokenize.Span.ParentSpanID = op.SpanID{2}, op.SpanID{1}
		records = append(records, request, tokenize, matmulAt("", id, at+10*ms, 10*ms))
	}
	return records
}

// answering returns twenty requests with 10 ms on a device and a picture of 30 ms behind it: 20 ms wait for a worker.
func answering() (records []op.Record) {
	for i := range byte(20) {
		id := op.TraceID{9, i}
		at := (1_000 + 50*int64(i)) * ms
		picture := spanAt("picture", "", id, at+10*ms, 30*ms)
		picture.Span.SpanID = op.SpanID{2}
		picture.Span.ParentSpanID = op.SpanID{1}
		encode := spanAt("encode", "", id, at+30*ms, 10*ms)
		encode.Span.SpanID = op.SpanID{3}
		encode.Span.ParentSpanID = op.SpanID{2}
		records = append(records, spanAt("POST", "", id, at, 40*ms), matmulAt("", id, at, 10*ms), picture, encode)
	}
	return records
}

// layers returns the calls of layers that take 1 ms each, but for the first call.
func layers(first int64) (records []op.Record) {
	at := 1_000 * ms
	for i := range 100 {
		rec := matmulAt("", op.TraceID{1}, at, ms)
		rec.Entry.Operation, rec.Entry.SpanID = fmt.Sprintf("layers.%d.mlp", i%5), op.SpanID{2, byte(i)}
		if i == 0 {
			rec.Entry.Duration = first
		}
		at += rec.Entry.Duration
		records = append(records, rec)
	}
	return records
}

// workers returns requests of five operations on one of two devices, the second of them slower, with the host's time between
// operations.
func workers(slower, host int64) (records []op.Record) {
	free := [2]int64{1_000 * ms, 1_000 * ms}
	for i := range byte(48) {
		arrival := (1_000 + 12*int64(i)) * ms
		w := 0
		if free[1] < free[0] {
			w = 1
		}
		in := op.TraceID{6, i}
		at := max(arrival, free[w])
		queue := spanAt("queue", "images", in, arrival, at-arrival)
		queue.Span.SpanID, queue.Span.ParentSpanID = op.SpanID{7}, op.SpanID{1}
		for k := range byte(5) {
			ns := 4 * ms
			if w == 1 {
				ns = slower
			}
			rec := matmulAt("images", in, at, ns)
			rec.Entry.DeviceID, rec.Entry.SpanID = fmt.Sprint("cuda:", w), op.SpanID{2, k}
			records = append(records, rec)
			at += ns + host
		}
		records = append(records, queue, spanAt("POST", "images", in, arrival, at-arrival))
		free[w] = at
	}
	return records
}

// encoding returns requests of one worker. It encodes the result of each, and then begins with the next one.
func encoding() (records []op.Record) {
	free := 1_000 * ms
	for i := range byte(24) {
		in := op.TraceID{7, i}
		arrival := (1_000 + 25*int64(i)) * ms
		at := max(arrival, free)
		for k := range byte(5) {
			work := matmulAt("images", in, at, 3*ms)
			work.Entry.Operation = []string{"unet", "vae"}[k/4]
			work.Entry.SpanID = op.SpanID{2, k}
			records = append(records, work)
			at += 3*ms + ms/10
		}
		encode := spanAt("encode", "images", in, at, 12*ms)
		encode.Span.SpanID = op.SpanID{3}
		encode.Span.ParentSpanID = op.SpanID{1}
		free = at + 12*ms
		records = append(records, encode, spanAt("POST", "images", in, arrival, free-arrival))
	}
	return records
}

// joining returns requests of an engine that waits 8 ms for others to join the first one of a batch.
func joining() (records []op.Record) {
	for i := range byte(30) {
		at := (1_000 + 40*int64(i)) * ms
		var links []op.Link
		for k := range 1 + i%3 {
			in := op.TraceID{4, i, k}
			arrival := at + 3*ms*int64(k)
			records = append(records, spanAt("POST", "embedder", in, arrival, at+18*ms-arrival))
			links = append(links, op.Link{TraceID: in, SpanID: op.SpanID{1}})
		}
		id := op.TraceID{5, i}
		records = append(records, spanAt("step", "embedder", id, at+8*ms, 10*ms, links...),
			matmulAt("embedder", id, at+8*ms, 10*ms))
	}
	return records
}

// paths returns the calls of layers told apart by their paths. The third takes 3 ms in place of 1 ms in one of two
// phases.
func paths() (records []op.Record) {
	at := 1_000 * ms
	for i := range 200 {
		rec := matmulAt("", op.TraceID{1}, at, ms)
		rec.Entry.Path, rec.Entry.Phase = fmt.Sprintf("layers.%d", i%5), []string{"prefill", "decode"}[i/5%2]
		rec.Entry.SpanID = op.SpanID{2, byte(i)}
		rec.Entry.OutputElements = op.Known(int64(64))
		if i%10 == 7 {
			rec.Entry.Duration = 3 * ms
		}
		at += rec.Entry.Duration
		records = append(records, rec)
	}
	return records
}

// fetching returns requests that fetch for 1 ms, each twentieth for 30 ms. Then a device works for 2 ms, and another
// one with an operation of its own for longer.
func fetching() (records []op.Record) {
	for i := range byte(60) {
		id := op.TraceID{9, i}
		at, fetched := (1_000+50*int64(i))*ms, ms
		if i%20 == 7 {
			fetched = 30 * ms
		}
		fetch := spanAt("GET features", "", id, at, fetched)
		fetch.Span.SpanID, fetch.Span.ParentSpanID = op.SpanID{2}, op.SpanID{1}
		own := matmulAt("", id, at+fetched+2*ms, 9*ms)
		own.Entry.Operation, own.Entry.DeviceID, own.Entry.SpanID = "decode", "cuda:1", op.SpanID{4}
		request := spanAt("POST", "", id, at, fetched+11*ms)
		records = append(records, request, fetch, matmulAt("", id, at+fetched, 2*ms), own)
		records[len(records)-2].Entry.DeviceID = "cuda:0"
	}
	return records
}

// sharded returns requests of a model on two devices that share their results after each layer.
func sharded() (records []op.Record) {
	for i := range byte(30) {
		in := op.TraceID{4, i}
		at := (1_000 + 40*int64(i)) * ms
		records = append(records, spanAt("POST", "", in, at, 20*ms))
		for layer := range byte(10) {
			for rank := range byte(2) {
				work := matmulAt("", in, at, ms)
				shared := matmulAt("", in, at+ms, ms)
				shared.Entry.Operation = "ncclAllReduce"
				shared.Entry.Kind = op.KindCollective
				for k, e := range []*op.Entry{work.Entry, shared.Entry} {
					e.SpanID = op.SpanID{2, layer, rank, byte(k)}
					e.DeviceID = fmt.Sprint("cuda:", rank)
					e.Rank = op.Known(int64(rank))
				}
				records = append(records, work, shared)
			}
			at += 2 * ms
		}
	}
	return records
}

// A server's layers need their collectives: a faster one helps, buckets and a backward pass do not.
func TestCollectivesOfAServer(t *testing.T) {
	f := only(found(t, sharded()...), "exposed_communication", "small_collectives")
	if !strings.Contains(f.Try, "an all-reduce for small messages") || f.SavedLowNS.V != 0 || f.SavedNS.V != 300*ms {
		t.Errorf("%s try %s: %d ns", f.Text, f.Try, f.SavedNS.V)
	}
}

func TestWhatIsSaidOfServers(t *testing.T) {
	decode := engineStep{weight: 1, ns: 8 * ms}
	prompt := func(weight int64) []engineStep {
		return []engineStep{{weight: weight, ns: weight * ms}, decode, decode, decode}
	}
	for name, c := range map[string]struct {
		records    []op.Record
		rule, says string // "" for no finding with the rule
	}{
		"the host within steps":    {stepping(ms/2, ms/2), "engine_host", "idle for 29.5 ms between steps, 500 µs at a"},
		"copies of results":        {sampling(), "pageable_copy", "60 copies take 30.0 ms. The host works on them while"},
		"a lock":                   {locked(), "engine_host", "No two devices work at the same time."},
		"rare slow calls":          {searching(), "uneven_calls", "search takes 10.0 ms at the median and up to 200 ms"},
		"a slow network":           {calling(), "network", "between services, in 20 calls: 40.0 ms each, mostly from gateway to model."},
		"a host that stops":        {stepping(ms/50, 40*ms), "pauses", "pauses 3 times between steps, for 40.0 ms"},
		"a host that stops within": {collecting(), "pauses", "pauses 3 times between the operations of steps, for 40"},
		"three long prompts":       {served(prompt(400), prompt(10), 12), "stalled_batch", "3 long prompts stall the batch"},
		"a long first step":        {unweighted(), "stalled_batch", "has a first step of 200 ms, the others at most 8"},
		"a span before the device": {parsing(), "before_operations", "20 requests POST spend 200 ms (50.0 %)"},
		"a span behind the device": {answering(), "after_operations", "spend 600 ms (75.0 %) after their last operation"},
		"a slow worker":            {workers(9*ms, 0), "straggler", "takes 2.25 times as long as the other worker of its queue"},
		"the host in requests":     {workers(4*ms, ms), "engine_host", "idle for 236 ms before operations of waiting"},
		"the host behind requests": {encoding(), "engine_host", "until unet: for 230 ms in all, while the host is in enc"},
		"workers without requests": {workers(2*ms, 0), "pauses", ""},
		"a window for batches":     {joining(), "queue", "idle for 228 ms while requests wait for others"},
		"a failed request":         {parsing(), "errors", "1 of 20 requests POST ended with an error."},
		"a slow layer":             {paths(), "unlike", "matmul of layers.2 in decode takes 3.00 ms, 3.00 times"},
		"calls of a slow layer":    {paths(), "uneven_calls", ""},
		"a rare slow call":         {fetching(), "pauses", "GET features takes 30.0 ms in the mean 3 of 60 times"},
		"another model's device":   {fetching(), "straggler", ""},
		"a slow first call":        {layers(900 * ms), "unlike", ""},
	} {
		f := only(found(t, c.records...), c.rule)
		if f.Rule != "" && c.says == "" || !strings.Contains(f.Text, c.says) {
			t.Errorf("%s: %s: %q, want %q", name, f.Rule, f.Text, c.says)
		}
	}
}

// Engines for prompts and for tokens are no equal devices, and one without a request is not idle because of its host.
func TestEnginesForPromptsAndForTokens(t *testing.T) {
	var records []op.Record
	for i := range byte(20) {
		at := (1_000 + 100*int64(i)) * ms
		records = append(records, spanAt("POST", "prefill", op.TraceID{4, i}, at, 95*ms))
		for step := range byte(5) {
			service, ns := "prefill", 4*ms
			if step > 0 {
				service, ns = "decode", 20*ms
			}
			link := op.Link{TraceID: op.TraceID{4, i}, SpanID: op.SpanID{1}}
			id := op.TraceID{5, i, step}
			records = append(records, spanAt("step", service, id, at, ns, link), matmulAt(service, id, at, ns))
			at += ns
		}
	}
	if f := only(found(t, records...), "straggler", "imbalance", "pauses"); f.Rule != "" {
		t.Errorf("%s: %s", f.Rule, f.Text)
	}
}
