// Package text renders reports for people: a head about the input, then aligned tables with scaled units.
//
// A page has lines, tables and a width. A view is a page about a report; each section is one of its methods, listed in
// order in text.go.
package text
