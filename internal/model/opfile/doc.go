// Package opfile is what readers and writers of files do with the types of package op: fields
// that follow from others, what tables have no columns for, the ids of traces that no backend knows.
package opfile
