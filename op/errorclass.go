package op

// ErrorClass is the class of a [SyntaxError], for counts: unlike the message it
// holds nothing of the input.
type ErrorClass uint8

// The classes.
const (
	// ErrorSyntax: the record does not follow the grammar of its format.
	ErrorSyntax ErrorClass = iota
	// ErrorRecord: the record is well formed, but a value is missing or not
	// possible. Readers that check both at once report ErrorSyntax.
	ErrorRecord
	// ErrorLimit: the record exceeds a limit of the reader.
	ErrorLimit
	// ErrorDamaged: compressed or binary data are damaged.
	ErrorDamaged
	// ErrorFormat: a file is of no known format.
	ErrorFormat
	// ErrorOther: any other reason, such as a server that does not hand out the
	// record.
	ErrorOther
)

// String returns the key of the class in reports.
func (c ErrorClass) String() string {
	switch c {
	case ErrorSyntax:
		return "syntax"
	case ErrorRecord:
		return "invalid_record"
	case ErrorLimit:
		return "limit_exceeded"
	case ErrorDamaged:
		return "damaged"
	case ErrorFormat:
		return "unknown_format"
	}
	return "other"
}
