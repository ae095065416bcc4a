// Package engines finds the requests of inference engines in spans, such as vLLM's llm_request: their queueing, prefill
// and decode times, according to attributes of the engine and spans below.
//
// [Find] returns the requests of a forest with the attributes in [Attrs]. [Requests.Rows] sums them up. The table
// dialects describes how each engine reports requests, with the engine's source files.
package engines
