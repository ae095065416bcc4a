// Package blame says which requests delayed others, and by how much.
package blame

import "github.com/optrace/optrace/op"

// Blame is the time by which a culprit delayed a victim: the victim ends so much earlier without the culprit. The rest of
// a victim's waiting has no culprit.
type Blame struct {
	Victim  Party  `json:"victim"`
	Culprit *Party `json:"culprit"`
	Reason  Reason `json:"reason"`
	NS      int64  `json:"ns"`
	LowNS   int64  `json:"low_ns"`
	HighNS  int64  `json:"high_ns"`
	// Tokens is the size of the culprit's prompt, 0 if unknown. Behind names the culprit, Text is a sentence.
	Tokens int64  `json:"tokens,omitzero"`
	Behind string `json:"behind"`
	Text   string `json:"text"`
}

// Party is a request, or work without a request.
type Party struct {
	// Row is the row of the request's span. Name is its name with a part of its trace id, enough to tell it from others.
	Row        int32      `json:"-"`
	Name       string     `json:"name,omitzero"`
	TraceID    op.TraceID `json:"trace_id,omitzero"`
	RootSpanID op.SpanID  `json:"root_span_id,omitzero"`
	// Step is the name of work without a request that was read.
	Step string `json:"step,omitzero"`
}

// Reason is how a culprit delayed a victim.
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
	// NS sums up the delays of Victims requests, each at least a hundredth of the request, and not longer than the culprit
	// can cause itself: a shorter queue may also let a request overtake another culprit. Longest is the longest of them.
	Victims int   `json:"victims"`
	NS      int64 `json:"ns"`
	LowNS   int64 `json:"low_ns"`
	HighNS  int64 `json:"high_ns"`
	Longest Blame `json:"longest"`
}

// Blames says who delayed whom.
type Blames struct {
	// Rows has for each victim, the slowest first, its culprits, the largest first, and the rest. They add up to the
	// victim's waiting: its duration less that of a replay in which it is alone. The rest is negative if several culprits
	// cause the same waiting.
	Rows []Blame
	// Culprits has the largest sum first.
	Culprits []Culprit
}
