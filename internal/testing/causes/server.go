package causes

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/optrace/optrace/op"
)

// The layouts of a server with batches: a span for each request, and spans of steps that link to their requests.
const (
	// Server runs new prompts in steps of their own.
	Server Layout = "server"
	// ServerMixed runs new prompts together with the requests that are generating.
	ServerMixed Layout = "server_mixed"
)

// ServerLayouts lists the layouts of a server.
var ServerLayouts = []Layout{Server, ServerMixed}

// Servers are the causes of [Twin] in the layouts of a server.
var Servers = []Planted{
	{"long_prompt", "stalled_batch", "stalls", func(float64) string { return "without request=" + traceOf(longPrompt).String() }},
	{"slow_operation", "", "mlp", func(s float64) string { return fmt.Sprintf("%gx mlp", 1/(1+slowMLP*s)) }},
	{"host_gap", "engine_host", "idle", func(s float64) string { return fmt.Sprintf("host %gx", 1/(1+longGap*s/hostNS)) }},
	{"cold_engine", "warm_up", "first step of the engine", func(float64) string { return "warm" }},
	{"overload", "queue", "queue", func(s float64) string { return fmt.Sprintf("%gx kind=compute", 1/(1+s)) }},
}

// The size of a server, and what its causes add for a strength of 1.
const (
	clients      = 120
	largestBatch = 8
	mostNew      = 4
	serverLayers = 4
	longPrompt   = clients / 2 // the request
	longTokens   = 100_000
	slowMLP      = 2
	launchNS     = 2 * us // of the host, before each operation
	sampleNS     = 30 * us
	gapNS        = 150 * us // between steps
	longGap      = 2_000 * us
	hostNS       = launchNS + sampleNS/(2+2*serverLayers) // the host's time within a step, for each operation
	coldNS       = 400_000 * us
)

// client is a request to a server.
type client struct {
	number       uint64
	arrival, end int64 // ns
	ready        int64 // when its prompt is parsed
	prompt       int64 // tokens
	left         int   // steps
	started      bool
}

// server simulates an engine that serves requests in the order of arrival. Arrivals do not wait for answers.
type server struct {
	program
	mixed            bool // see ServerMixed
	late             bool // a batch is formed after the host's time between steps, otherwise before
	now              int64
	waiting, running []*client
	steps            uint64
	records          []op.Record
}

// Serve returns the records of a server with a cause, and the durations of its requests by trace. left are the
// numbers of requests to leave out.
func Serve(name string, layout Layout, strength float64, seed uint64, left ...int) ([]op.Record, map[op.TraceID]int64) {
	p := program{cause: name, planted: true, strength: strength, seed: seed}
	return p.serve(layout, left...)
}

// serve runs a server without the clients left.
func (p program) serve(layout Layout, left ...int) ([]op.Record, map[op.TraceID]int64) {
	s := &server{program: p, mixed: layout == ServerMixed, late: p.seed%2 == 0}
	all := slices.DeleteFunc(s.clients(), func(c *client) bool { return slices.Contains(left, int(c.number)) })
	for next := 0; next < len(all) || len(s.waiting)+len(s.running) > 0; s.steps++ {
		if len(s.waiting)+len(s.running) == 0 {
			s.now = max(s.now, all[next].ready)
		}
		usual := float64(gapNS)
		if s.cause == "host_gap" {
			usual = hostNS
		}
		gap := int64((usual + longGap*s.is("host_gap")) * s.noise(0, "gap", 0.3))
		if s.late {
			s.now += gap
			gap = 0
		}
		for ; next < len(all) && all[next].ready <= s.now; next++ {
			s.waiting = append(s.waiting, all[next])
		}
		s.step(s.form(), gap)
	}
	ns := make(map[op.TraceID]int64)
	for _, c := range all {
		ns[traceOf(c.number)] = c.end - c.arrival
		s.records = append(s.records, op.Record{Span: &op.Span{
			Name: "POST /generate", Service: "server", TraceID: traceOf(c.number), SpanID: spanOf(c.number),
			Start: op.Known(epoch + c.arrival), Duration: c.end - c.arrival,
		}})
	}
	return s.records, ns
}

// clients draws the requests.
func (s *server) clients() (all []*client) {
	at := int64(0)
	for i := range uint64(clients) {
		mean := 4_300 * float64(us) // a median
		if s.cause == "overload" {
			mean = 3_700 * us
		}
		at += int64(mean * s.noise(0, "arrival", 1))
		c := &client{number: i, arrival: at, prompt: int64(500 * s.noise(0, "prompt", 0.6))}
		c.ready = at + int64(80*us*s.noise(0, "parse", 0.3))
		c.left = 1 + int(20*s.noise(0, "tokens", 0.5))
		if i == longPrompt && s.cause == "long_prompt" {
			if !s.planted {
				continue
			}
			c.prompt = int64(longTokens * s.strength)
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b *client) int { return int(a.ready - b.ready) })
	return all
}

// form takes the requests of the next step.
func (s *server) form() []*client {
	n := min(len(s.waiting), mostNew, largestBatch-len(s.running))
	fresh := s.waiting[:n:n]
	s.waiting = s.waiting[n:]
	batch := append(slices.Clone(fresh), s.running...)
	s.running = batch
	if n > 0 && !s.mixed {
		return fresh
	}
	return batch
}

// The time of an operation: ns, ns by token of a prompt, and ns by request that is generating.
var serverOps = map[string][3]float64{
	"embed": {10 * us, 20, 200}, "attention": {60 * us, 300, 4 * us}, "mlp": {120 * us, 500, 1.5 * us},
	"logits": {40 * us, 50, 1 * us},
}

// step runs a batch.
func (s *server) step(batch []*client, gap int64) {
	s.now += gap
	span := &op.Span{
		Name: "engine_step", Service: "server", TraceID: traceOf(1<<20 + s.steps), SpanID: spanOf(1<<20 + s.steps),
		Start: op.Known(epoch + s.now),
	}
	tokens := [2]float64{}
	for _, c := range batch {
		weight := int64(1)
		if c.started {
			tokens[1]++
		} else {
			weight = c.prompt
			tokens[0] += float64(c.prompt)
		}
		c.started = true
		span.Links = append(span.Links, op.Link{
			TraceID: traceOf(c.number), SpanID: spanOf(c.number), Weight: op.Known(weight),
		})
	}
	if s.steps == 0 {
		s.now += int64(coldNS * s.is("cold_engine"))
	}
	s.operation(span, "embed", tokens)
	for range serverLayers {
		s.operation(span, "attention", tokens)
		s.operation(span, "mlp", tokens)
	}
	s.operation(span, "logits", tokens)
	sample := float64(sampleNS)
	if s.cause == "host_gap" && !s.planted { // the next step is prepared
		sample = hostNS
	}
	s.now += int64(sample * s.noise(0, "sample", 0.1))
	span.Duration = epoch + s.now - span.Start.V
	s.records = append(s.records, op.Record{Span: span})
	for _, c := range batch {
		if c.left--; c.left == 0 {
			c.end = s.now + int64(50*us*s.noise(0, "answer", 0.2))
		}
	}
	s.running = slices.DeleteFunc(s.running, func(c *client) bool { return c.left == 0 })
}

// operation runs an operation of a step.
func (s *server) operation(step *op.Span, name string, tokens [2]float64) {
	cost := serverOps[name]
	ns := (cost[0] + cost[1]*tokens[0] + cost[2]*tokens[1]) * s.noise(0, name, 0.05) * (1 + s.is("overload"))
	if name == "mlp" {
		ns *= 1 + slowMLP*s.is("slow_operation")
	}
	s.now += launchNS
	s.records = append(s.records, op.Record{Entry: &op.Entry{
		Operation: name, Kind: op.KindCompute, DeviceID: "cuda:0", Stream: op.Known(0), Service: "server",
		Start: op.Known(epoch + s.now), Duration: int64(ns), TraceID: step.TraceID, ParentSpanID: step.SpanID,
		SpanID: spanOf(1<<30 + uint64(len(s.records))),
	}})
	s.now += int64(ns)
}

func spanOf(n uint64) (id op.SpanID) {
	binary.BigEndian.PutUint64(id[:], n+1)
	return id
}

func traceOf(n uint64) (id op.TraceID) {
	binary.BigEndian.PutUint64(id[8:], n+1)
	return id
}
