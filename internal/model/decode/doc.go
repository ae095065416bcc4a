// Package decode reads records of the entries format, line by line, for packages entries and
// seed: any JSON, and in one pass what is written as optrace writes it.
package decode
