package clickhouse

import "time"

// Limits of statements and results.
const (
	// readTimeout limits the silence of the server.
	readTimeout = 5 * time.Minute
	// maxQueryBytes and maxQueryParts limit a query. A report names every input.
	maxQueryBytes = 8 << 20
	maxQueryParts = 1 << 20
	// maxInputs limits the inputs of a report.
	maxInputs = 100_000
	// maxFileRows limits the rows of a file. A load takes a byte of memory for each.
	maxFileRows = 1 << 31
	// maxRows limits the rows of a table by operation, device or group.
	maxRows = 1_000_000
)
