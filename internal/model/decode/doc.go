// Package decode reads records of the entries format, line by line, for packages entries and seed. It reads any JSON,
// and the form of package op's writers in one pass.
package decode
