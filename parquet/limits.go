package parquet

// The limits of what is held in memory, or on disk, at a time. A file states
// the sizes of its parts, and these are what is believed.
const (
	// MaxFooterBytes is the largest footer. It takes some kilobytes per row
	// group, so that is far above a billion operations.
	MaxFooterBytes = 128 << 20
	// MaxPageBytes is the largest page, decompressed. Known writers stay below
	// 100 MiB, most at one.
	MaxPageBytes = 128 << 20
	// MaxHeldBytes bounds the pages and dictionaries of all columns together.
	MaxHeldBytes = 512 << 20
	// MaxColumns is how many columns and groups a schema may have, and MaxDepth how deep
	// it may nest.
	MaxColumns = 1 << 16
	MaxDepth   = 64
	// MaxRowGroups is how many row groups a file may have.
	MaxRowGroups = 1 << 20
	// MaxRowValues is how many values a row may have in a column.
	MaxRowValues = 1 << 20
	// MaxTextBytes is the longest text.
	MaxTextBytes = 16 << 20
	// MaxSpoolBytes is the largest input that is copied to a temporary file,
	// because it can only be read from front to back.
	MaxSpoolBytes = 16 << 30

	// Rows that are all equal take no space, so that a few bytes may claim any number of
	// them. MaxRowsPerByte is how many rows a byte of the pages that were read may stand
	// for, whatever lies between them, and FreeRows is how many rows there may be in a
	// file of any size.
	MaxRowsPerByte = 16
	FreeRows       = 1 << 20

	// maxValuesPerByte is how many values a byte of a page may stand for where there
	// are more of them than rows. Levels that are not all equal take a bit at least.
	maxValuesPerByte = 64
	// maxHeaderBytes is the longest header of a page, which may hold the smallest and the
	// largest value.
	maxHeaderBytes = 1 << 20
)
