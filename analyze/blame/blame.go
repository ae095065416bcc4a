// Package blame finds requests delayed by others, and the lengths of the delays.
package blame

import "github.com/optrace/optrace/op"

// Blame is the delay of a victim by a culprit: in a replay without the culprit the victim ends earlier by NS. The rest of
// a victim's waiting has a nil Culprit.
type Blame struct {
	Victim  Party  `json:"victim"`
	Culprit *Party `json:"culprit"`
	Reason  Reason `json:"reason"`
	NS      int64  `json:"ns"`
	LowNS   int64  `json:"low_ns"`
	HighNS  int64  `json:"high_ns"`
	// Tokens is the size of the culprit's prompt, 0 if unknown. Behind describes the culprit, Text is a sentence.
	Tokens int64  `json:"tokens,omitzero"`
	Behind string `json:"behind"`
	Text   string `json:"text"`
}

// Party is a request, or work without a request.
type Party struct {
	// Row is the row of the request's span. Name is its name with a part of its trace id, unique among the parties.
	Row        int32      `json:"-"`
	Name       string     `json:"name,omitzero"`
	TraceID    op.TraceID `json:"trace_id,omitzero"`
	RootSpanID op.SpanID  `json:"root_span_id,omitzero"`
	// Step is the name of the work if no request was read for it.
	Step string `json:"step,omitzero"`
}

// Reason is the manner of a delay.
type Reason string

// The reasons.
const (
	// ByPrompt is the time of the culprit's prompt, ByDecode the time of its further steps.
	ByPrompt Reason = "prompt"
	ByDecode Reason = "decode"
	// ByQueue is the time before the victim's first step while the culprit was generating.
	ByQueue Reason = "queue"
	// ByOther is work outside steps or without a request, and the rest.
	ByOther Reason = "other"
)

// Culprit sums up the delays caused by a request.
type Culprit struct {
	Party
	// NS is the sum of the delays of Victims requests, Longest the longest delay. Delays below a hundredth of the
	// request's duration do not count, nor do delays longer than the culprit can cause itself: a shorter queue may also
	// let a request overtake another culprit.
	Victims int   `json:"victims"`
	NS      int64 `json:"ns"`
	LowNS   int64 `json:"low_ns"`
	HighNS  int64 `json:"high_ns"`
	Longest Blame `json:"longest"`
}

// Blames are the delays among all requests.
type Blames struct {
	// Rows has the victims, slowest first, each with its culprits, largest delay first, and the rest. The rows of a
	// victim add up to its waiting: its duration minus its duration in a replay without other requests. The rest is
	// negative if several culprits cause the same waiting.
	Rows []Blame
	// Culprits has the largest sum first.
	Culprits []Culprit
}
