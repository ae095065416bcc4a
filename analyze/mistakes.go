package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// mistakes counts recording errors of programs. Partial results contain it as JSON.
type mistakes struct {
	// Products counts matrix products with incompatible shapes. Product is the first of them in text order.
	Products int64  `json:"products,omitempty"`
	Product  string `json:"product,omitempty"`
	// Early counts operations with a start from 1970 to 1999. First and Last bound their starts. EarlyShort counts
	// early operations shorter than longStep.
	Early      int64 `json:"early,omitempty"`
	First      int64 `json:"first,omitempty"`
	Last       int64 `json:"last,omitempty"`
	EarlyShort int64 `json:"early_short,omitempty"`
	// Mixed is set if other operations start in or after 2000. Partial results omit it.
	Mixed bool `json:"-"`
}

// IsZero reports whether the JSON form is empty.
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
		a := []int64(e.InputShapes[0])
		b := []int64(e.InputShapes[1])
		m.merge(&mistakes{Products: 1, Product: fmt.Sprintf("%s %v × %v", e.Operation, a, b)})
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

// longStep separates wrong units from other clocks, in nanoseconds. With a unit that is too large, at least half of the
// early operations are shorter. Otherwise the clock starts elsewhere, such as at boot.
const longStep = 1_000

// timeUnit returns the apparent unit of the early starts, or "" for Unix nanoseconds and other clocks.
// A file has one clock: either all operations start early or the others have Unix nanoseconds.
func (m *mistakes) timeUnit(formats []string, entries int64) string {
	unixFormats := []string{"entries-jsonl", "otlp-json", "otlp-proto", "stdouttrace", "parquet"}
	hasOthers := slices.ContainsFunc(formats, func(name string) bool { return !slices.Contains(unixFormats, name) })
	unit := opmodel.TimeUnit(m.First)
	if m.Early == 0 || hasOthers || unit != opmodel.TimeUnit(m.Last) || 2*m.EarlyShort < m.Early {
		return ""
	}
	if m.Early < entries && !m.Mixed {
		return ""
	}
	return unit
}
