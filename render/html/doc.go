// Package html writes a report as one page for the browser: a timeline, a flame
// graph and the report's tables, in a file that loads nothing from a network.
//
// The page shows the figures of the [analyze.Report] as they are. It adds
// up only what a reader selects, from the operations that it carries as
// compressed columns; package analyze computes everything else. The sources of
// the page are in web, plain modules without a framework; [Write] joins them.
//
// Names and other text from the data are shown as text, never as markup, and a
// content security policy lets no script run but the page's own.
package html
