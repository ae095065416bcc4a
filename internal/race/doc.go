// Package race tells tests whether they run under the race detector, which makes them ten times slower. Those that look at many
// cases look at fewer of them there. Only tests import it.
package race
