// Package opmodel helps makers of entries, but not users of the library, with the types of package op: single
// attributes and links, derived kinds and sizes.
package opmodel
