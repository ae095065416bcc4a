// Package csv writes the tables of a report, and entries, as comma-separated values: RFC 4180 quoting, lines ended by a
// newline, a header row, base units in every number, an empty field for an unknown value.
//
// Spreadsheets run fields as formulas if they start with =, +, -, @, the full-width and small forms of these, a tab or
// a line break. Names come from the input, so such text gets a leading apostrophe unless [Options].Unguarded is set.
// Numbers are never changed.
//
// Entries are written one at a time, tables from a finished report. Package render/text renders the same report for
// people.
package csv
