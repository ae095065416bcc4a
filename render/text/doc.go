// Package text renders reports for people: first what they were computed from, then
// aligned tables with units scaled to fit.
//
// A page has lines and tables and knows their width. A view is a page about a report; each
// section is a method of it, which text.go lists in their order.
package text
