package kineto

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// arguments holds the arguments of one event. It is reused for the next event.
type arguments struct {
	lex      lexer.Lexer
	unescape lexer.Lexer // of a text
	texts    intern.Table
	keys     argumentKeys

	// The values of the event. Its slices are reused.
	values
	// extra is a JSON object of the other arguments that the mapping keeps, geometry one of the unkept arguments of a
	// kernel's launch.
	extra, geometry []byte
}

type values struct {
	correlation, external, device, stream op.Int
	bytes                                 op.Int // of a copy or set on the device
	size                                  op.Int // of its launch
	collective                            collective
	peer, source, target                  op.Int // ranks in the arguments of a send or receive
	autograd, forward                     op.Int // the number of autograd, and the thread of the forward operator
	waitStream, recorded                  op.Int // of an awaited event: its stream, and the correlation id of its recording
	sycl                                  op.Int // the stream of an Intel device
	event                                 op.Int // Perfetto's number of an operation of a device
	begin, end                            op.Int // rocprof's times in nanoseconds

	// The JSON texts of values of other profilers.
	task, agent, fromAgent, toAgent, copyKind, hostProcess, hostThread, awaited []byte

	bad bool // a text in place of a number

	// dims, types and concrete are the JSON texts of the inputs' shapes, types and values.
	dims, types, concrete []byte
}

func (a *arguments) reset() {
	a.values = values{}
	a.extra, a.geometry = a.extra[:0], a.geometry[:0]
}

// parse reads the text of an args object. It must be valid JSON; nil is an empty object.
func (a *arguments) parse(text []byte) {
	a.reset()
	if text == nil {
		return
	}
	l := &a.lex
	l.Reset(text)
	for l.Object(); l.More(); {
		key := a.keys.find(l.Key())
		if value := l.Raw(); value != nil {
			a.set(key, value)
		}
	}
	a.finishCollective()
}

// straight reads the args object at b[i] in one pass and returns the index behind it. It returns -1 for an invalid or
// unusual text; parse reads that to the same effect.
func (a *arguments) straight(b []byte, i int) int {
	a.reset()
	i = lexer.Space(b, i+1)
	for more := true; more; {
		name, start := lexer.Member(b, i)
		if i = lexer.Value(b, start); i < 0 {
			return -1
		}
		a.set(a.keys.find(name), b[start:i])
		i, more = lexer.Next(b, i, '}')
	}
	a.finishCollective()
	return i
}

func (a *arguments) set(key *argumentKey, value []byte) {
	switch {
	case key.json != nil:
		*key.json(a) = value
	case key.text != nil:
		key.text(&a.collective, strings.ToValidUTF8(a.texts.String(a.text(value)), "\ufffd"))
	case key.number != nil:
		n := parseInt(value)
		if value[0] == '"' {
			n = parseInt(a.text(value))
			a.bad = a.bad || !n.Known && string(value) != `""`
		}
		if key.counts {
			n = count(n)
		}
		*key.number(a) = n
	}
	a.keep(key, value)
}

// text returns the content of a string, nil for any other value.
func (a *arguments) text(value []byte) []byte {
	if value[0] != '"' {
		return nil
	}
	text := value[1 : len(value)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		a.unescape.Reset(value)
		return a.unescape.Str()
	}
	return text
}

func (a *arguments) finishCollective() {
	c := &a.collective
	switch c.Name {
	case "":
		*c = collective{}
	case "send":
		c.PeerRank = cmp.Or(a.target, a.peer)
	case "recv":
		c.PeerRank = cmp.Or(a.source, a.peer)
	}
}

// keep appends an argument to extra or geometry. The mapping does not change its meaning.
func (a *arguments) keep(key *argumentKey, value []byte) {
	switch {
	case key.wanted:
		a.extra = appendMember(a.extra, key.name, value)
	case key.geometry && (!key.graph || string(value) != "0"):
		a.geometry = appendMember(a.geometry, cmp.Or(key.as, key.name), value)
	}
}

// appendMember adds a member to a compact JSON object. An empty text becomes an object.
func appendMember(object []byte, key string, value []byte) []byte {
	if len(object) == 0 {
		object = append(object, '{')
	} else {
		object[len(object)-1] = ','
	}
	object = scalar.AppendString(object, key)
	object = append(object, ':')
	object = append(object, value...)
	return append(object, '}')
}

func parseInt(text []byte) op.Int {
	n, ok := scalar.ParseInt(text)
	if !ok {
		return op.Int{}
	}
	return op.Known(n)
}

// readCount reads a non-negative integer, also a quoted one; any other value is unknown.
func readCount(l *lexer.Lexer) op.Int {
	if l.Peek() == '"' {
		return count(parseInt(l.Str()))
	}
	return count(parseInt(l.AnyNumber()))
}

func count(n op.Int) op.Int {
	if n.V < 0 {
		return op.Int{}
	}
	return n
}

type argument struct {
	number   func(a *arguments) *op.Int
	counts   bool // a number cannot be negative
	text     func(c *collective, s string)
	json     func(a *arguments) *[]byte
	geometry bool   // one of geometry
	graph    bool   // 0 is no graph
	as       string // the key in geometry, if it is another one
}

var geometry = [...]string{
	attrkey.Grid, attrkey.Block, attrkey.Registers, attrkey.SharedMemory, attrkey.Occupancy, attrkey.Graph,
	attrkey.GraphNode, attrkey.GraphNodeName,
}

// Arguments of operations of devices in [Source]s: a number in the trace, and a list of the numbers of operations that
// this one waited for.
const (
	EventID    = "event_id"
	EventWaits = "event_wait_ids"
)

var meanings = makeMeanings()

func makeMeanings() map[string]argument {
	number := func(at func(a *arguments) *op.Int) argument { return argument{number: at} }
	counts := func(at func(a *arguments) *op.Int) argument { return argument{number: at, counts: true} }
	text := func(set func(c *collective, s string)) argument { return argument{text: set} }
	json := func(at func(a *arguments) *[]byte) argument { return argument{json: at} }
	external := number(func(a *arguments) *op.Int { return &a.external })
	dims := json(func(a *arguments) *[]byte { return &a.dims })
	all := map[string]argument{
		"correlation":     number(func(a *arguments) *op.Int { return &a.correlation }),
		"External id":     external,
		"external id":     external,
		"device":          number(func(a *arguments) *op.Int { return &a.device }),
		"stream":          number(func(a *arguments) *op.Int { return &a.stream }),
		"bytes":           counts(func(a *arguments) *op.Int { return &a.bytes }),
		"size":            counts(func(a *arguments) *op.Int { return &a.size }),
		"Input Dims":      dims,
		"Input dims":      dims,
		"Input type":      json(func(a *arguments) *[]byte { return &a.types }),
		"Concrete Inputs": json(func(a *arguments) *[]byte { return &a.concrete }),
		"Collective name": text(func(c *collective, s string) { c.Name = s }),
		"dtype": text(func(c *collective, s string) {
			if d, ok := op.ParseDType(s); ok {
				c.dtype = d
			}
		}),
		"Process Group Name": text(func(c *collective, s string) { c.Group = s }),
		"Group size":         counts(func(a *arguments) *op.Int { return &a.collective.GroupSize }),
		"Seq":                number(func(a *arguments) *op.Int { return &a.collective.Sequence }),
		"In msg nelems":      counts(func(a *arguments) *op.Int { return &a.collective.InElements }),
		"Out msg nelems":     counts(func(a *arguments) *op.Int { return &a.collective.OutElements }),
		"Rank":               counts(func(a *arguments) *op.Int { return &a.peer }),
		"Src Rank":           counts(func(a *arguments) *op.Int { return &a.source }),
		"Dst Rank":           counts(func(a *arguments) *op.Int { return &a.target }),
		"Sequence number":    counts(func(a *arguments) *op.Int { return &a.autograd }),
		"Fwd thread id":      counts(func(a *arguments) *op.Int { return &a.forward }),
		"wait_on_stream":     number(func(a *arguments) *op.Int { return &a.waitStream }),
		"sycl queue":         number(func(a *arguments) *op.Int { return &a.sycl }),
		"Task Type":          json(func(a *arguments) *[]byte { return &a.task }),
		"agent":              json(func(a *arguments) *[]byte { return &a.agent }),
		"src_agent":          json(func(a *arguments) *[]byte { return &a.fromAgent }),
		"dst_agent":          json(func(a *arguments) *[]byte { return &a.toAgent }),
		"copy kind":          json(func(a *arguments) *[]byte { return &a.copyKind }),
		"host process":       json(func(a *arguments) *[]byte { return &a.hostProcess }),
		"host thread":        json(func(a *arguments) *[]byte { return &a.hostThread }),
		"BeginNs":            number(func(a *arguments) *op.Int { return &a.begin }),
		"EndNs":              number(func(a *arguments) *op.Int { return &a.end }),
		EventID:              number(func(a *arguments) *op.Int { return &a.event }),
		EventWaits:           json(func(a *arguments) *[]byte { return &a.awaited }),
	}
	all["wait_on_cuda_event_record_corr_id"] = number(func(a *arguments) *op.Int { return &a.recorded })
	for key, of := range map[string]string{
		"dev-id": "device", "queue-id": "stream", "stream_ID": "stream", "stream_id": "stream", "Stream Id": "stream",
		"corr_id": "correlation", "connection_id": "correlation", "copy_bytes": "bytes",
	} {
		all[key] = all[of]
	}
	for _, key := range geometry {
		all[key] = argument{geometry: true, graph: key == attrkey.Graph || key == attrkey.GraphNode}
	}
	all["name"] = argument{geometry: true, as: attrkey.GraphNodeName} // of Cuspy and TensorFlow
	return all
}

type argumentKey struct {
	name string
	argument
	wanted bool // by the mapping, and not in geometry
}

// argumentKeys looks up keys. It is a direct-mapped cache: a trace has a few dozen keys.
type argumentKeys struct {
	wants func(key string) bool
	slots [1 << keyBits]argumentKey
	other argumentKey
}

const (
	keyBits   = 9
	maxKeyLen = 64 // of cached keys
)

// find returns the entry of a key, valid until the next call. Kineto's meaning of "device" and of geometry takes
// precedence over the mapping's.
func (k *argumentKeys) find(key []byte) *argumentKey {
	found := &k.other
	if 0 < len(key) && len(key) <= maxKeyLen {
		found = &k.slots[intern.Hash(key)>>(64-keyBits)]
		if found.name == string(key) {
			return found
		}
	}
	name := string(key)
	*found = argumentKey{name: name, argument: meanings[name]}
	found.wanted = name != "device" && !found.geometry && k.wants(name)
	return found
}
