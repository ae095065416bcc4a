// Package opmodel helps makers of entries, but not users of the library, with the types of package op: single
// attributes and links, derived kinds and sizes.
package opmodel

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// UsualRule returns the usual rule for a kind. Files state the rule for collectives only.
func UsualRule(k op.Kind) op.KindRule {
	switch k {
	case op.KindCompute:
		return op.RuleDefault
	case op.KindMemory:
		return op.RuleName
	}
	return op.RuleAttribute
}

// Reasons of gaps for work that a profile announces and does not hold.
const (
	LostLaunch      = "launch_without_operation"
	LostGraphLaunch = "graph_launch_without_operation"
	CapturedLaunch  = "captured_launch" // into a graph: it did not run
	EmptyStep       = "step_without_operation"
)

// Unrecorded lists these reasons.
var Unrecorded = [...]string{LostLaunch, LostGraphLaunch, CapturedLaunch, EmptyStep}

const maxCachedName = 512

// KindCache is a cache of [op.InferKind]: names repeat, and comparing them is far cheaper than searching for words.
type KindCache struct {
	slots [128]struct {
		name string
		kind op.Kind
		rule op.KindRule
	}
}

// Infer is [op.InferKind].
func (c *KindCache) Infer(name string) (op.Kind, op.KindRule) {
	n := len(name)
	if n == 0 || n > maxCachedName {
		return op.InferKind(name)
	}
	i := (uint(n) + uint(name[n-1])*5 + uint(name[n/2])*31) % uint(len(c.slots))
	slot := &c.slots[i]
	if slot.name != name {
		other := &c.slots[i^1]
		if other.name != name {
			other.kind, other.rule = op.InferKind(name)
			other.name = name
		}
		*slot, *other = *other, *slot
	}
	return slot.kind, slot.rule
}

// SetDerivedMemory sets MemoryBytes to elements × element size.
func SetDerivedMemory(e *op.Entry) {
	n, w := DerivedMemory(e)
	e.MemoryBytes = n
	e.Warn |= w
}

// DerivedMemory returns elements × element size, unknown with a warning on overflow.
func DerivedMemory(e *op.Entry) (op.Int, op.Warning) {
	if !e.OutputElements.Known {
		return op.Int{}, 0
	}
	size := e.DType.Size()
	if size == 0 {
		size = op.DefaultElementSize
	}
	hi, lo := bits.Mul64(uint64(e.OutputElements.V), uint64(size))
	if hi != 0 || lo > math.MaxInt64 {
		return op.Int{}, op.WarnOverflow
	}
	return op.Known(int64(lo)), 0
}

// AddSaturating returns a + b, or the nearest int64 on overflow.
func AddSaturating(a, b int64) int64 {
	sum := a + b
	if (sum > a) == (b > 0) {
		return sum
	}
	if b > 0 {
		return math.MaxInt64
	}
	return math.MinInt64
}

// SetResourceAttr adds an attribute to the resource: service.name, tensor.rank and tensor.world_size set their fields.
// Any other attribute, and a rank other than a number, joins Attrs. Of equal keys the last wins. index must be the one
// for all attributes of r.
func SetResourceAttr(r *op.Resource, index *AttrIndex, a op.Attr) {
	a = ValidAttr(a)
	switch a.Key {
	case attrkey.ServiceName:
		r.Service = a.Value
		return
	case attrkey.Rank, attrkey.WorldSize:
		if n, ok := scalar.ParseInt([]byte(strings.TrimSpace(a.Value))); ok && n >= 0 {
			if a.Key == attrkey.Rank {
				r.Rank = op.Known(n)
			} else {
				r.WorldSize = op.Known(n)
			}
			return
		}
	}
	n, ok := scalar.ParseInt([]byte(a.Value))
	switch {
	case a.Key == attrkey.HostName:
		r.Host = a.Value
	case a.Key == "nv.dl.rank" && ok && n >= 0: // of Megatron-LM and NeMo, kept as well
		r.Rank = cmp.Or(r.Rank, op.Known(n))
	case a.Key == "nv.dl.world_size" && ok && n >= 0:
		r.WorldSize = cmp.Or(r.WorldSize, op.Known(n))
	}
	r.Attrs = index.Set(r.Attrs, a)
}

// ResourceBytes returns about the memory of a resource's attributes; r may be nil.
func ResourceBytes(r *op.Resource) (bytes int64) {
	if r != nil {
		for i := range r.Attrs {
			bytes += int64(attrBytes + len(r.Attrs[i].Key) + len(r.Attrs[i].Value))
		}
	}
	return bytes
}

// CannotMultiply reports whether an operation of this name multiplies two matrices, or two batches of them, and its
// inputs cannot be multiplied: neither directly, nor transposed, nor with several elements packed into one of the
// second. It reports no ambiguous names or numbers of inputs.
func CannotMultiply(name string, inputs []op.Shape) bool {
	rank := 2
	switch strings.TrimPrefix(name, "aten::") {
	case "matmul", "mm", "gemm", "linear", "dense", "MatMul":
	case "bmm", "batch_matmul", "batched_matmul":
		rank = 3
	default:
		return false
	}
	if len(inputs) != 2 || len(inputs[0]) != rank || len(inputs[1]) != rank {
		return false
	}
	a := inputs[0][rank-2:]
	b := inputs[1][rank-2:]
	for i, m := range a {
		for _, n := range b {
			if m < 0 || n < 0 || m == n || i == 1 && mayHold(n, m) {
				return false
			}
		}
	}
	return true
}

// mayHold reports whether a dimension of n may hold m elements in another form: several in a word of 32 bits,
// quantized blocks of 32 or 256 elements in bytes, or padded rows.
func mayHold(n, m int64) bool {
	const (
		word   = 32
		padded = 32 // shorter rows are not padded
	)
	if n == 0 {
		return false
	}
	for _, bits := range []int64{1, 2, 3, 4, 5, 6, 8, 16} {
		if n <= m/2 && n*word == m*bits {
			return true
		}
	}
	for elements, sizes := range blocks {
		if all := m / elements; all > 0 && m%elements == 0 && n%all == 0 && slices.Contains(sizes, n/all) {
			return true
		}
	}
	return m >= padded && n > m && n%8 == 0 && n-m < 64
}

// blocks are the sizes in bytes of the quantized blocks of llama.cpp (ggml-common.h), by their elements.
var blocks = map[int64][]int64{
	32:  {17, 18, 20, 22, 24, 34, 36},
	256: {50, 54, 56, 66, 74, 82, 84, 98, 110, 136, 144, 176, 210, 292},
}

// Year2000 is the start of the year 2000 in Unix nanoseconds. An earlier time is a mistake, or no Unix time.
const Year2000 = 946_684_800 * 1_000_000_000

// TimeUnit returns the unit of n, "seconds", "milliseconds" or "microseconds", if n is a Unix time of this century in
// it, else "". In nanoseconds n is earlier than Year2000.
func TimeUnit(n int64) string {
	const first, last = Year2000 / 1_000_000_000, 4_102_444_800
	for _, unit := range []struct {
		name      string
		perSecond int64
	}{{"seconds", 1}, {"milliseconds", 1_000}, {"microseconds", 1_000_000}} {
		if n >= first*unit.perSecond && n < last*unit.perSecond {
			return unit.name
		}
	}
	return ""
}

// AppendText appends an attribute with a text unless it is empty.
func AppendText(attrs []op.Attr, key, value string) []op.Attr {
	if value == "" {
		return attrs
	}
	return append(attrs, op.Attr{Key: key, Value: value})
}

// AppendInt appends an attribute with an integer if it is known.
func AppendInt(attrs []op.Attr, key string, n op.Int) []op.Attr {
	if !n.Known {
		return attrs
	}
	return append(attrs, op.Attr{Key: key, Value: strconv.FormatInt(n.V, 10), Type: op.AttrInt})
}

// FloatAttr returns an attribute with a floating-point value.
func FloatAttr(key string, v float64) op.Attr {
	return op.Attr{Key: key, Value: strconv.FormatFloat(v, 'g', -1, 64), Type: op.AttrFloat}
}

// SetNumber sets the value of an attribute to a number in JSON.
func SetNumber(a *op.Attr, text []byte) {
	if bytes.ContainsAny(text, ".eE") {
		if f, ok := scalar.ParseFloat(text); ok && !math.IsInf(f, 0) {
			*a = FloatAttr(a.Key, f)
			return
		}
	} else if n, ok := scalar.ParseInt(text); ok {
		a.Value = strconv.FormatInt(n, 10)
		a.Type = op.AttrInt
		return
	}
	a.Value = string(text) // more than 64 bits
	a.Type = op.AttrText
}

// SetRaw sets the value of an attribute to JSON of any type but a string or number.
func SetRaw(a *op.Attr, text string) {
	a.Value = text
	a.Type = op.AttrJSON
	if text == "true" || text == "false" {
		a.Type = op.AttrBool
	} else if base64, ok := scalar.CutBytes(text); ok {
		a.Value = base64
		a.Type = op.AttrBytes
	} else if f, ok := scalar.CutDouble(text); ok {
		*a = FloatAttr(a.Key, f)
	}
}

// FindAttr returns the attribute with a key, or nil.
func FindAttr(attrs []op.Attr, key string) *op.Attr {
	for i := range attrs {
		if attrs[i].Key == key {
			return &attrs[i]
		}
	}
	return nil
}

// AttrIndex sets attributes in constant time in a list of any length. It must have set the list from the first
// attribute on. The zero value is ready, also for the next list.
type AttrIndex struct {
	at map[string]int
	// Held accounts for the memory of each attribute. A refused one is left out.
	Held budget.Account
}

// attrBytes is about the size of an attribute without its texts, indexBytes its size in the index of a long list.
const (
	attrBytes  = 2 * int(unsafe.Sizeof(op.Attr{}))
	indexBytes = 96
)

// Append appends an attribute to a list that may have equal keys.
func (x *AttrIndex) Append(attrs []op.Attr, a op.Attr) []op.Attr {
	if !x.Held.Take(attrBytes + len(a.Key) + len(a.Value)) {
		return attrs
	}
	return append(attrs, a)
}

const indexedFrom = 32

// Set sets an attribute among attrs: of equal keys the last wins.
func (x *AttrIndex) Set(attrs []op.Attr, a op.Attr) []op.Attr {
	if len(attrs) < indexedFrom {
		if x.at != nil {
			x.at = nil
		}
		if old := FindAttr(attrs, a.Key); old != nil {
			*old = a
			return attrs
		}
		return x.Append(attrs, a)
	}
	if len(x.at) != len(attrs) {
		x.at = make(map[string]int, 2*len(attrs))
		for i := range attrs {
			x.at[attrs[i].Key] = i
		}
	}
	if i, ok := x.at[a.Key]; ok {
		attrs[i] = a
		return attrs
	}
	n := len(attrs)
	if x.Held.Take(indexBytes) {
		attrs = x.Append(attrs, a)
	}
	if len(attrs) > n {
		x.at[a.Key] = n
	}
	return attrs
}

// ValidAttr returns a with valid UTF-8.
func ValidAttr(a op.Attr) op.Attr {
	a.Key = scalar.ValidUTF8(a.Key)
	a.Value = scalar.ValidUTF8(a.Value)
	return a
}

// LinkWeight returns the field of l for an attribute key of links, nil for any other key.
func LinkWeight(l *op.Link, key string) *op.Int {
	switch key {
	case attrkey.LinkWeight:
		return &l.Weight
	case attrkey.LinkAttention:
		return &l.Attention
	}
	return nil
}

// LinkInt sets the link's field to an integer attribute. It returns the warning about a bad value, or 0.
func LinkInt(l *op.Link, key string, v int64) op.Warning {
	switch field := LinkWeight(l, key); {
	case field == nil:
		return 0
	case v < 0:
		return op.WarnBadValue
	default:
		*field = op.Known(v)
	}
	return 0
}

// LinkAttr is LinkInt for an attribute of any type: also a text, or a floating-point number within ±2^53.
func LinkAttr(l *op.Link, a op.Attr) op.Warning {
	if LinkWeight(l, a.Key) == nil {
		return 0
	}
	var n int64
	ok := false
	switch a.Type {
	case op.AttrText, op.AttrInt:
		n, ok = scalar.ParseInt([]byte(strings.TrimSpace(a.Value)))
	case op.AttrFloat:
		f, _ := strconv.ParseFloat(a.Value, 64)
		n, ok = scalar.IntegralFloat(f)
	}
	if !ok {
		return op.WarnBadValue
	}
	return LinkInt(l, a.Key, n)
}

// DroppedLinks returns the number of missing links of an entry or span.
func DroppedLinks(x *op.Extra) int64 {
	if x == nil {
		return 0
	}
	return max(0, x.DroppedLinks)
}

// Dropped returns an Extra with a number of dropped links, nil for 0.
func Dropped(n int64) *op.Extra {
	if n <= 0 {
		return nil
	}
	return &op.Extra{DroppedLinks: n}
}

// WithMessage returns x, perhaps nil, with the description of a status.
func WithMessage(x *op.Extra, message string) *op.Extra {
	if message == "" {
		return x
	}
	if x == nil {
		x = new(op.Extra)
	}
	x.Message = message
	return x
}

// AppendLink appends l to the links of a record. It leaves out an invalid or excess link and adds the warning to warn.
func AppendLink(links []op.Link, l op.Link, warn *op.Warning) []op.Link {
	switch {
	case !l.Valid():
		*warn |= op.WarnBadID
	case len(links) == op.MaxLinks:
		*warn |= op.WarnDroppedLinks
	default:
		return append(links, l)
	}
	return links
}
