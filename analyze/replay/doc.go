// Package replay runs a recording again with a change and predicts the times.
//
//	g := replay.New(forest)
//	r, err := g.Run(replay.Change{Kind: replay.Scale, Select: "matmul", Factor: 0.5})
//
// A recording is a graph. Each start and each end is a point, and each edge sets a point at least a lag
// after another. A replay sets each point to the latest of its edges. A change edits lags:
//
//   - The events of a host thread follow each other. The time between two belongs to the innermost open event.
//   - An operation waits for the one before it on its stream, for its launching call, and for operations on other
//     streams where the recording states or shows this.
//   - A waiting call ends after the device's work before it.
//   - The parts of a collective transfer once all of them have started.
//   - A shared execution waits for its new requests and the execution before it. A request ends after its executions.
//
// The binding edge of the recording keeps its whole lag, all others at most the usual lag of their kind. Without a
// change, each point therefore comes out as recorded. An edge in contradiction to the recording is left out and counted.
//
// Where shared executions follow each other and explain their requests, batches are formed again: see [Batches]. The
// durations of these requests, and the end of the run, come from there. Batches formed again may make requests slower
// by shorter operations, as those of an engine do.
//
// Limits: lags of the host are code without a record and stay as they are. Other executions keep their requests.
package replay
