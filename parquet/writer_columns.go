package parquet

import "github.com/parquet-go/parquet-go"

// The leaf columns in the order of the schema.
const (
	colRecord = iota
	colStep
	colOperation
	colDeviceID
	colInputShapes
	colOutputShape
	colDuration
	colOutputElements
	colMemoryBytes
	colKind
	colKindRule
	colDType
	colStart
	colLaunch
	colStream
	colRank
	colFLOPs
	colTraceID
	colSpanID
	colParentSpanID
	colRoot
	colRootSpanID
	colService
	colScope
	colPath
	colInputDTypes
	colSide
	colFailed
	colError
	colAdjustedCount
	colDroppedAttributes
	colAttrKeys
	colAttrValues
	colWarn
	colCollectiveName
	colCollectiveGroup
	colCollectiveGroupSize
	colCollectiveSequence
	colCollectivePeerRank
	colCollectiveInElements
	colCollectiveOutElements
	colName
	colParentRemote
	colWorldSize
	colGapDropped
	colGapReason
	colBatchWriter
	colBatchSequence
	colBatchEntries
	colLinkTraceIDs
	colLinkSpanIDs
	colLinkWeights
	colExtra

	numColumns
)

// columnValues collects the values of a leaf column until they are written.
type columnValues struct {
	w      *parquet.ColumnWriter
	values []parquet.Value
	// null is the value of a row that has none.
	null parquet.Value
	// rows is how many rows, since the last flush, have values.
	rows int
}
