package spanattr

import "github.com/optrace/optrace/op"

// Name returns the name of the span of an operation.
func Name(e *op.Entry) string {
	if e.Extra != nil && e.Extra.Name != "" {
		return e.Extra.Name
	}
	return e.Operation
}
