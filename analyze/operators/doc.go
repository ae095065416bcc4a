// Package operators sums up the work of devices by the operators on the host that launched it:
// what each launched itself, and what it did together with the operators inside it. Which operator
// launched an operation, [trace.Forest.Launcher] says; it leaves steps and requests to others.
package operators
