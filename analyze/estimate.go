package analyze

// estimateUnit is one in the fixed-point form of sampling weights: they are
// added up as integers, so that the estimate does not depend on the order.
const estimateUnit = 1 << 32

// maxWeight is the largest sampling weight that a tracestate can express.
const maxWeight = 1 << 56

// weighted estimates what a group of sampled entries stands for, by the
// estimator of Horvitz and Thompson: each entry counts as the inverse of the
// probability with which it was sampled.
type weighted struct {
	count wide // in units of 1/estimateUnit
	sum   wide // of nanoseconds, in the same units
}

func (w *weighted) add(weight float64, duration int64) {
	weight = min(weight, maxWeight)
	whole := uint64(weight)
	part := uint64((weight - float64(whole)) * estimateUnit)
	mid, lo := whole>>32, whole<<32|part
	w.count.addWords(0, mid, lo)
	w.sum.addProduct(mid, lo, duration)
}

func (w *weighted) merge(o *weighted) {
	w.count.merge(o.count)
	w.sum.merge(o.sum)
}

func (w *weighted) estimate() Estimate {
	count, sum := w.count.float64()/estimateUnit, w.sum.float64()/estimateUnit
	return Estimate{EstCount: &count, EstSumNS: &sum}
}
