// Package processor compares whole pipelines: from operations that end to bytes.
package processor
