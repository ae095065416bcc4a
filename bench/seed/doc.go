// Package seed compares the analyses over a trace held in memory with a Rust
// program that does what the recorder did which this project started from.
package seed
