// Package spanattr says which attributes an operation has when it is written as
// a span, whatever the format of that span.
package spanattr
