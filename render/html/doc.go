// Package html writes a report as one page for the browser: a timeline, a flame graph and the report's tables, in a
// file that loads no other resource.
//
// The page shows the figures of the [analyze.Report] unchanged. It computes only sums over a reader's selection, from
// compressed columns of operations; package analyze computes everything else. Folder web has the sources of the page,
// plain modules without a framework; [Write] joins them.
//
// Text from the data is shown as text, never as markup, and a content security policy allows only the page's own
// script.
package html
