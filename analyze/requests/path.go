package requests

import "github.com/optrace/optrace/analyze/path"

// Path sums up the critical path of a request, one of r, nil for a request without a start.
func (r *Requests) Path(q *Request) *path.Sum {
	if !q.StartNS.Known {
		return nil
	}
	if r.walks == nil {
		r.walks = path.NewWalks(r.forest)
	}
	sum := path.NewSum(r.forest)
	r.walks.AddPath(sum, q.window(), nil)
	return sum
}

// window returns the window of the critical path of a request that has a start.
func (r *Request) window() path.Window {
	return path.Window{Row: r.Root.Row, From: r.StartNS.V, To: r.StartNS.V + r.DurationNS.V}
}
