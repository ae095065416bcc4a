package kineto

// chunkRows is how many rows are allocated at a time.
const chunkRows = 1 << chunkBits

const chunkBits = 10

// rows is a list that grows without being copied, so that a trace never takes more memory than its rows need.
type rows[T any] struct {
	chunks []*[chunkRows]T
	n      int
}

// add appends a row and returns it to be set.
func (r *rows[T]) add() *T {
	if r.n == len(r.chunks)*chunkRows {
		r.chunks = append(r.chunks, new([chunkRows]T))
	}
	r.n++
	return r.at(int32(r.n - 1))
}

// at returns the i-th row.
func (r *rows[T]) at(i int32) *T { return &r.chunks[i>>chunkBits][i&(chunkRows-1)] }
