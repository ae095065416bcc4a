package optrace

// restPolicy decides when a cache rests and when it starts anew, by how many of
// the look-ups in a window were hits. What never comes again should cost next to
// nothing: after two windows running with few hits the cache rests, for twice as
// many windows each time. The zero value is ready to use.
type restPolicy struct {
	lookups, hits int // in this window
	windows       int // since the cache was emptied
	poor          int // how many windows in a row had few hits
	nap           int // how many windows the last rest took
	left          int // look-ups that are still to be left out
	// useful tells that the cache was of use in the last window.
	useful bool
}

const (
	restWindow  = 1 << 13 // look-ups
	restMost    = 64      // windows
	restMinLife = 64      // windows
)

// resting notes a look-up and reports whether it is to be left out. stale tells,
// once after each window, that a cache which is full should be emptied: it is of
// little use, and has been for long. Of a cycle of more than fits, what does fit
// should stay.
func (r *restPolicy) resting() (rests, stale bool) {
	if r.left > 0 {
		r.left--
		return true, false
	}
	if r.lookups == restWindow {
		stale = r.review()
	}
	r.lookups++
	return false, stale
}

// isResting reports whether the last look-up was left out.
func (r *restPolicy) isResting() bool { return r.left > 0 }

// hit notes that the look-up was a hit.
func (r *restPolicy) hit() { r.hits++ }

// emptied notes that the cache starts anew.
func (r *restPolicy) emptied() { r.windows = 0 }

func (r *restPolicy) review() (stale bool) {
	few, fair := r.hits < restWindow/4, r.hits < restWindow*3/4
	r.lookups, r.hits = 0, 0
	r.windows++
	if few {
		r.poor++
	} else {
		r.poor, r.nap = 0, 0
	}
	stale = r.poor > 1 || fair && r.windows >= restMinLife
	if r.poor > 1 {
		r.nap = min(max(1, 2*r.nap), restMost)
		r.left = r.nap * restWindow
	}
	r.useful = !stale
	return stale
}
