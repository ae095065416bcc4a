package parquet

// The limits of what is held in memory, or on disk, at a time. A file states
// the sizes of its parts, and these are what is believed.
const (
	// maxFooterBytes is the largest footer. It takes some kilobytes per row
	// group, so that is far above a billion operations.
	maxFooterBytes = 128 << 20
	// maxPageBytes is the largest page, decompressed. Known writers stay below
	// 100 MiB, most at one.
	maxPageBytes = 128 << 20
	// maxHeldBytes bounds the pages and dictionaries of all columns together.
	maxHeldBytes = 512 << 20
	// maxColumns is how many columns and groups a schema may have, and maxDepth how deep
	// it may nest.
	maxColumns = 1 << 16
	maxDepth   = 64
	// maxRowGroups is how many row groups a file may have.
	maxRowGroups = 1 << 20
	// maxRowValues is how many values a row may have in a column.
	maxRowValues = 1 << 20
	// maxTextBytes is the longest text.
	maxTextBytes = 16 << 20
	// MaxSpoolBytes is the largest input that is copied to a temporary file,
	// because it can only be read from front to back.
	MaxSpoolBytes = 16 << 30

	// Rows that are all equal take no space, so that a few bytes may claim any number of
	// them. maxRowsPerByte is how many rows a byte of the pages that were read may stand
	// for, whatever lies between them, and freeRows is how many rows there may be in a
	// file of any size.
	maxRowsPerByte = 16
	freeRows       = 1 << 20

	// maxValuesPerByte is how many values a byte of a page may stand for where there
	// are more of them than rows. Levels that are not all equal take a bit at least.
	maxValuesPerByte = 64
	// maxHeaderBytes is the longest header of a page, which may hold the smallest and the
	// largest value.
	maxHeaderBytes = 1 << 20
)
