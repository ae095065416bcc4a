// Package opfile helps readers and writers of files with the types of package op: derived fields, values without a
// column in tables, placeholder trace ids.
package opfile
