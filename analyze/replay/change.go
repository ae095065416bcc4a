package replay

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/optrace/optrace/internal/text/units"
)

// Kind is the kind of a change to the selected operations.
type Kind string

// The kinds of changes, as written before the selection.
const (
	// Scale multiplies the time by Factor.
	Scale Kind = "scale"
	// Remove takes the operations and their launches out.
	Remove Kind = "remove"
	// Typical shortens each call to the median of its like: the same [trace.Likeness], in its layer if this has enough
	// calls.
	Typical Kind = "typical"
	// Roofline shortens each call to its bound by the device's peaks, or written roofline=0.7 to the time at a share of them.
	Roofline Kind = "roofline"
	// Rate shortens each call to its bytes at Factor bytes per second.
	Rate Kind = "rate"
	// Overlap puts collectives on a stream of their own: they wait for the work launched before them alone.
	Overlap Kind = "overlap"
	// Parts divides collectives into Factor equal parts, written parts=8. A part starts as soon as the backward pass in front
	// has done as much of its work.
	Parts Kind = "parts"
	// NoWait lets the host go on in the calls of a name, or in blocking copies. Spans that run one at a time do not wait for the
	// one before.
	NoWait Kind = "nowait"
	// Balance gives each device the mean of their work, by operation and step, or replicas the same number of
	// [EvenRequests].
	Balance Kind = "balance"
	// Fuse runs repeated sequences, written a;b;c, as one launch. [ShortRuns] and
	// [Elementwise] select runs of operations.
	Fuse Kind = "fuse"
	// Host multiplies all time of the host, or of the hosts selected by rank=N or service=NAME, by Factor.
	Host Kind = "host"
	// Pauses shortens long times without an event of the host to the usual time between two. It takes no selection.
	Pauses Kind = "pauses"
	// Warm shortens each operation of the first step to the median of its like in other steps. It takes no selection.
	Warm Kind = "warm"
	// Chunk reads at most Factor tokens of a prompt in a step of an engine, written chunk=64, without a selection.
	Chunk Kind = "chunk"
	// Replicas divides the requests of an engine, in turn, among Factor engines like it, written replicas=2, without a
	// selection.
	Replicas Kind = "replicas"
	// Early lets requests come to their engine as they begin, without what they do before. It selects nothing.
	Early Kind = "early"
	// Window lets engines wait at most Factor ns for others to join the first request of a batch, written window=0s,
	// without a selection.
	Window Kind = "window"
	// Without leaves out a request, written request=TRACE_ID.
	Without Kind = "without"
)

// EvenRequests selects the requests of replicas, for [Balance].
const EvenRequests = "requests"

// Change is a change of a recording.
type Change struct {
	Kind   Kind   `json:"change"`
	Select string `json:"select"`
	// Factor is that of Scale and Host, bytes per second of Rate, tokens of Chunk, the number of Replicas or Parts, ns of
	// Window, or the share of the peak of Roofline, 0 for 1.
	Factor float64 `json:"factor,omitzero"`
}

// isEven reports whether the change gives replicas their requests in turn.
func (c Change) isEven() bool { return c.Kind == Balance && c.Select == EvenRequests }

// String returns the change as Parse reads it.
func (c Change) String() string {
	factor := strconv.FormatFloat(c.Factor, 'g', -1, 64) + "x"
	switch c.Kind {
	case Scale:
		return factor + " " + c.Select
	case Host:
		return strings.TrimSpace("host " + factor + " " + c.Select)
	case Pauses, Warm, Early:
		return string(c.Kind)
	case Chunk, Replicas:
		return fmt.Sprintf("%s=%g", c.Kind, c.Factor)
	case Window:
		return fmt.Sprintf("window=%v", time.Duration(c.Factor))
	case Rate:
		return fmt.Sprintf("rate=%gGB/s %s", c.Factor/1e9, c.Select)
	case Parts:
		return fmt.Sprintf("parts=%g %s", c.Factor, c.Select)
	case Roofline:
		if c.Factor != 0 {
			return fmt.Sprintf("roofline=%g %s", c.Factor, c.Select)
		}
	}
	return string(c.Kind) + " " + c.Select
}

var errWhat = errors.New("a change is WHAT SELECT, such as \"0.5x matmul\"; WHAT is a factor such as 0.5x, remove, " +
	"typical, roofline=0.7, rate=25GB/s, overlap, parts=8, nowait, balance, fuse, host, pauses, warm, early, chunk=64, " +
	"replicas=2, window=2ms or without")

// Runs of operations of a stream, for [Fuse].
const (
	// ShortRuns selects runs of at least four operations shorter than 10 µs.
	ShortRuns = "short"
	// Elementwise selects runs of at least two operations with elementwise kernels. The longest of a run stays.
	Elementwise = "elementwise"
)

// Parse reads a change, such as "0.5x matmul" or "rate=25GB/s Memcpy HtoD". The error names the valid forms.
func Parse(text string) (c Change, err error) {
	what, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	c = Change{Kind: Kind(what), Select: strings.TrimSpace(rest)}
	rate, isRate := strings.CutPrefix(what, "rate=")
	tokens, isChunk := strings.CutPrefix(what, "chunk=")
	engines, isReplicas := strings.CutPrefix(what, "replicas=")
	window, isWindow := strings.CutPrefix(what, "window=")
	parts, isParts := strings.CutPrefix(what, "parts=")
	share, isShare := strings.CutPrefix(what, "roofline=")
	switch {
	case isWindow:
		c.Kind = Window
		ns, notTime := time.ParseDuration(window)
		if notTime != nil || ns < 0 || c.Select != "" {
			return c, fmt.Errorf("%q is no time such as window=2ms", text)
		}
		c.Factor = float64(ns)
		return c, nil
	case isRate:
		c.Kind = Rate
		c.Factor, err = units.ParseRate(rate)
	case isShare:
		c.Kind = Roofline
		if c.Factor, err = strconv.ParseFloat(share, 64); err != nil || !(c.Factor > 0 && c.Factor <= 1) {
			err = fmt.Errorf("%q is no share of the peak above 0 and up to 1, such as roofline=0.7", text)
		}
	case isParts:
		c.Kind = Parts
		n, notNumber := strconv.Atoi(parts)
		if c.Factor = float64(n); notNumber != nil || n < 2 || n > 1000 {
			err = fmt.Errorf("%q is no number of parts from 2 to 1000, such as parts=8", text)
		}
	case isReplicas:
		c.Kind = Replicas
		n, notNumber := strconv.Atoi(engines)
		if notNumber != nil || n < 2 || n > 64 || c.Select != "" {
			return c, fmt.Errorf("%q is no number of engines from 2 to 64, such as replicas=2", text)
		}
		c.Factor = float64(n)
		return c, nil
	case isChunk:
		c.Kind = Chunk
		if c.Factor, err = strconv.ParseFloat(tokens, 64); err != nil || !(c.Factor >= 1) || c.Factor > 1e9 {
			return c, fmt.Errorf("%q is no number of tokens such as chunk=64", text)
		}
		fallthrough
	case c.Kind == Pauses || c.Kind == Warm || c.Kind == Early:
		if c.Select != "" {
			err = fmt.Errorf("%q: %s selects nothing", text, what)
		}
		return c, err
	case what == string(Host):
		var by string
		by, c.Select, _ = strings.Cut(c.Select, " ")
		c.Factor, err = parseFactor(by)
		if err == nil && c.Select != "" && !strings.HasPrefix(c.Select, "rank=") && !strings.HasPrefix(c.Select, "service=") {
			err = fmt.Errorf("%q: host takes a factor, and rank=N or service=NAME if not all are meant", text)
		}
		return c, err
	case strings.HasSuffix(what, "x"):
		c.Kind = Scale
		c.Factor, err = parseFactor(what)
	case !slices.Contains([]Kind{Remove, Typical, Roofline, Overlap, NoWait, Balance, Fuse, Without}, c.Kind):
		err = fmt.Errorf("%q: %w", what, errWhat)
	}
	switch {
	case err != nil:
	case c.Select == "":
		err = fmt.Errorf("%q selects nothing: %w", text, errWhat)
	case c.Kind == Without && !strings.HasPrefix(c.Select, "request="):
		err = fmt.Errorf("%q: without takes request=TRACE_ID", text)
	case c.Kind == Fuse && c.Select != ShortRuns && c.Select != Elementwise && !strings.Contains(c.Select, ";"):
		err = fmt.Errorf("%q: fuse takes two or more names, such as matmul;relu, or %s or %s", text, ShortRuns,
			Elementwise)
	}
	return c, err
}

func parseFactor(text string) (float64, error) {
	number, isFactor := strings.CutSuffix(text, "x")
	f, err := strconv.ParseFloat(number, 64)
	if !isFactor || err != nil || !(f >= 0 && f <= 1000) {
		return 0, fmt.Errorf("%q is no factor from 0x to 1000x", text)
	}
	return f, nil
}
