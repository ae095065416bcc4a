// Package csv renders a report's tables, and entries, as comma-separated
// values: RFC 4180 quoting, lines ended by a newline, a header row, base units
// in every number, an empty field for what is not known.
//
// Names come from the input, and spreadsheets run fields that start with =, +,
// -, @, their full-width and small forms, or white space other than a blank as
// formulas. Such text gets an apostrophe in front, unless [Options].Unguarded
// asks for the plain text. Numbers are never changed.
package csv
