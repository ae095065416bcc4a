package clickhouse

import "time"

// The bounds of statements and answers.
const (
	// readTimeout is how long the server may be silent.
	readTimeout = 5 * time.Minute
	// maxQueryBytes and maxQueryParts bound the text of a query and its parts: a report
	// names every input.
	maxQueryBytes = 8 << 20
	maxQueryParts = 1 << 20
	// maxInputs bounds the inputs of a report.
	maxInputs = 100_000
	// maxFileRows bounds the rows of a file: a load takes a byte of memory for each.
	maxFileRows = 1 << 31
	// maxRows bounds the rows of a table by operation, device or group.
	maxRows = 1_000_000
)
