package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// mistakes counts what programs record wrongly. Its JSON form is that of partial results.
type mistakes struct {
	// Products counts the products of matrices whose shapes cannot be multiplied; Product is the first of them by
	// its text.
	Products int64  `json:"products,omitempty"`
	Product  string `json:"product,omitempty"`
	// Early counts the operations that start in or after 1970 and before 2000, First and Last are the extremes of their
	// starts, and EarlyShort counts those shorter than longStep.
	Early      int64 `json:"early,omitempty"`
	First      int64 `json:"first,omitempty"`
	Last       int64 `json:"last,omitempty"`
	EarlyShort int64 `json:"early_short,omitempty"`
	// Mixed is set where other operations start later. Partial results do not hold it.
	Mixed bool `json:"-"`
}

// IsZero reports whether the JSON form says nothing.
func (m mistakes) IsZero() bool {
	m.Mixed = false
	return m == mistakes{}
}

func (m *mistakes) add(e *op.Entry) {
	if e.Start.Known && e.Start.V >= opmodel.Year2000 {
		m.Mixed = true
	} else if e.Start.Known && e.Start.V > 0 {
		early := mistakes{Early: 1, First: e.Start.V, Last: e.Start.V}
		if e.Duration < longStep {
			early.EarlyShort = 1
		}
		m.merge(&early)
	}
	if opmodel.CannotMultiply(e.Operation, e.InputShapes) {
		m.merge(&mistakes{
			Products: 1, Product: fmt.Sprintf("%s %v × %v", e.Operation, []int64(e.InputShapes[0]), []int64(e.InputShapes[1])),
		})
	}
}

func (m *mistakes) merge(o *mistakes) {
	if o.Products > 0 && (m.Products == 0 || o.Product < m.Product) {
		m.Product = strings.Clone(o.Product)
	}
	m.Products += o.Products
	if o.Early > 0 {
		if m.Early == 0 {
			m.First = o.First
			m.Last = o.Last
		}
		m.First = min(m.First, o.First)
		m.Last = max(m.Last, o.Last)
	}
	m.Early += o.Early
	m.Mixed = m.Mixed || o.Mixed
	m.EarlyShort += o.EarlyShort
}

// longStep is the duration in nanoseconds that half of the early operations must stay below: recorded in too large a
// unit, operations seem to take next to no time. Others are on a clock that starts elsewhere, such as with the host.
const longStep = 1_000

// timeUnit returns the unit in which the early starts seem to be recorded, "" where they are Unix nanoseconds or those
// of another clock. All operations start early, or the others have Unix nanoseconds: a file has one clock. The formats
// are those of the input.
func (m *mistakes) timeUnit(formats []string, entries int64) string {
	holdOthers := slices.ContainsFunc(formats, func(name string) bool {
		return name != "entries-jsonl" && name != "otlp-json" && name != "otlp-proto" && name != "stdouttrace" && name != "parquet"
	})
	unit := opmodel.TimeUnit(m.First)
	if m.Early == 0 || holdOthers || unit != opmodel.TimeUnit(m.Last) || 2*m.EarlyShort < m.Early {
		return ""
	}
	if m.Early < entries && !m.Mixed {
		return ""
	}
	return unit
}
