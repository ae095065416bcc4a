// Package engines finds the requests of inference engines in spans that are no operations, such as
// vLLM's llm_request: how long they waited, were prefilled and decoded, by what the engine says in
// attributes and in spans below.
//
// [Find] returns the requests of a forest that has kept the attributes of [Attrs], and [Requests.Rows] sums them up. What a dialect, an
// engine's way to say this, has is in one table, with the engine's files that it follows.
package engines
