package op

// Columns holds operations that follow one another, column by column. Sums over
// columns cost a fraction of those over entries. It belongs to the reader that handed
// it out, and changes with the reader's next record but one of the same rows.
//
// A column is dictionary-encoded: row i has the value of its code i. Codes are numbers
// in the order of the source, and may be equal where values are not: two codes may have
// one value. Code 0 is a value that is not known, the zero value.
type Columns struct {
	Operation, DeviceID, Service Column[string]
	Rank                         Column[Int]
	Side                         Column[Side]
	Kind                         Column[Kind]
	Start, Duration              Column[Int]
	OutputElements, MemoryBytes  Column[Int]
	FLOPs                        Column[Int]
	Failed                       Column[bool]

	// These have nothing where a reader leaves their fields out ([Mapping.Without]).
	Stream, Step, Launch       Column[Int]
	Root                       Column[string]
	Trace                      Column[TraceID]
	Span, ParentSpan, RootSpan Column[SpanID]

	InputShapes Column[[]Shape]
	OutputShape Column[Shape]
	InputDTypes Column[[]DType]
	DType       Column[DType]
	// Collective has nothing where a reader leaves parents out, which means that nobody
	// looks at the structure.
	Collective Column[*Collective]

	// These are rarely looked at, and are read then.
	KindRule func(row int) KindRule
	TraceID  func(row int) TraceID
	SpanID   func(row int) SpanID

	// Entry returns a row with all that the source has. It is valid until the next
	// call, and until the record ends.
	Entry func(row int) *Entry
}

// Column is a column of values.
type Column[T any] struct {
	Codes  []uint32 // of the rows
	Values []T      // by code
	// Version changes when codes get other values.
	Version int64
}

// At returns the value of a row.
func (c *Column[T]) At(row int) T { return c.Values[c.Codes[row]] }

// Rows is a part of Columns: operations in the order of the source. They have no
// warning, a name, a duration that is not negative, an end that fits 64 bits, no
// weight, and a device where they have a name for it.
type Rows struct {
	*Columns
	// List has their places in the columns, in ascending order. What lies between them
	// is no operation.
	List []int32
}

// ByColumns returns a mapping for readers that may hand out operations as Rows. It says
// otherwise what m says; m may be nil, and does not change.
func (m *Mapping) ByColumns() *Mapping {
	var c Mapping
	if m != nil {
		c = *m
	}
	c.columns = true
	return &c
}

// HasColumns reports whether a reader may hand out Rows: not where attributes are kept,
// of which they have none.
func (m *Mapping) HasColumns() bool { return m != nil && m.columns && !m.all && len(m.kept) == 0 }
