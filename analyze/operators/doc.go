// Package operators attributes device time to the operators on the host that launched it: the work launched by each
// operator itself, and including the operators inside it. See [trace.Forest.Launcher] for how launchers are found.
package operators
