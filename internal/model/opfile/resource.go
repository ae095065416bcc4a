package opfile

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// PartialSchema names the format of partial results and its major version.
const PartialSchema = "optrace.profile/v1"

// SameResource reports whether two resources are equal apart from Host, one of their Attrs.
func SameResource(r, o *op.Resource) bool {
	return r.Service == o.Service && r.Rank == o.Rank && r.WorldSize == o.WorldSize && slices.Equal(r.Attrs, o.Attrs)
}
