// Package csv renders a report's tables, and entries, as comma-separated
// values: RFC 4180 quoting, lines ended by a newline, a header row, base units
// in every number, an empty field for an unknown value.
//
// Names come from the input, and spreadsheets run fields that start with =, +,
// -, @, their full-width and small forms, a tab or a line break as formulas. Such
// text is preceded by an apostrophe unless [Options].Unguarded is set. Numbers
// are never changed.
//
// Entries are written one at a time, tables from a finished report. Package
// render/text renders the same report for people.
package csv
