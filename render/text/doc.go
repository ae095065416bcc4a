// Package text renders a report for people: first what it was computed from,
// then aligned tables with units scaled to fit.
package text
