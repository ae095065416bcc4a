package replay_test

import (
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// client is a client with its request, which has a place in the engine from entered, or none.
type client struct {
	id               byte
	arrival, entered int64
	tokens, answered int
}

// serveClients simulates four clients that send their requests one after the other, with spans for their queue and
// their decode, and an engine with two places. An operation takes scale times its time.
func serveClients(scale float64) (f *trace.Forest, end, sum int64) {
	const us = 1_000
	f = trace.New()
	ids := byte(0)
	clients := make([]*client, 4)
	send := func(c *client, at int64) {
		ids++
		*c = client{id: ids, arrival: at, entered: -1, tokens: 3 + int(ids*7%11), answered: c.answered}
	}
	span := func(trace op.TraceID, id, parent byte, name string, start, end int64, links ...op.Link) {
		s := &op.Span{
			Name: name, TraceID: trace, SpanID: op.SpanID{7: id}, Start: op.Known(1e18 + start), Duration: end - start,
			Links: links,
		}
		if parent != 0 {
			s.ParentSpanID = op.SpanID{7: parent}
		}
		f.Add(op.Record{Span: s})
	}
	for i := range clients {
		clients[i] = new(client)
		send(clients[i], int64(i)*20*us)
	}
	now := int64(0)
	for step := byte(1); ; step++ {
		slices.SortStableFunc(clients, func(a, b *client) int { return int(a.arrival - b.arrival) })
		var batch []*client
		for _, c := range clients {
			if c.tokens > 0 && c.entered >= 0 {
				batch = append(batch, c)
			}
		}
		for _, c := range clients {
			if c.tokens > 0 && c.entered < 0 && c.arrival <= now && len(batch) < 2 {
				c.entered = now
				batch = append(batch, c)
			}
		}
		if len(batch) == 0 {
			return f, end, sum
		}
		start := now + 10*us
		now = start + int64(scale*float64(100*us+int64(len(batch))*300*us))
		var links []op.Link
		for _, c := range batch {
			links = append(links, op.Link{TraceID: op.TraceID{c.id}, SpanID: op.SpanID{7: 3}})
		}
		span(op.TraceID{15: step}, 1, 0, "step", start, now, links...)
		f.Add(op.Record{Entry: &op.Entry{
			Operation: "mlp", DeviceID: "cpu", Start: op.Known(1e18 + start), Duration: now - start,
			TraceID: op.TraceID{15: step}, SpanID: op.SpanID{7: 2}, ParentSpanID: op.SpanID{7: 1},
		}})
		for _, c := range batch {
			if c.tokens--; c.tokens > 0 {
				continue
			}
			end = now + 5*us
			sum += end - c.arrival
			span(op.TraceID{c.id}, 1, 0, "POST /generate", c.arrival, end)
			span(op.TraceID{c.id}, 2, 1, "queue", c.arrival, c.entered)
			span(op.TraceID{c.id}, 3, 1, "decode", c.entered, now+2*us)
			if c.answered++; c.answered < 4 {
				send(c, end+30*us)
			}
		}
	}
}

// Clients that wait for their answers send the next request earlier if the engine is faster.
func TestClientsSendTheirNextRequestAfterAnAnswer(t *testing.T) {
	f, _, _ := serveClients(1)
	for _, scale := range []float64{0.3, 0.5, 2} {
		_, end, sum := serveClients(scale)
		g := replay.New(f)
		g.Blame(nil) // leaves the engines as they are
		r, err := g.Run(replay.Change{Kind: replay.Scale, Select: "mlp", Factor: scale})
		check.OK(t, err)
		for _, times := range [][2]int64{{r.Run.ReplayedNS, end}, {r.Requests.ReplayedSumNS, sum}} {
			if d := times[0] - times[1]; 50*max(d, -d) > times[1] {
				t.Errorf("%g times mlp: predicted %d ns, simulated %d", scale, times[0], times[1])
			}
		}
	}
}
