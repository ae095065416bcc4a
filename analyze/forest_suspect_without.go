package analyze

// without reports for each row whether it has a suspect duration, is a clock
// problem or lies below one: the times of a whole branch come from the same
// clock.
func (f *Forest) without(s *suspects) []bool {
	out := make([]bool, f.Len())
	for _, r := range s.durations {
		out[r] = true
	}
	below := make([]bool, f.Len())
	pending := append([]int32(nil), s.clock...)
	for len(pending) > 0 {
		last := len(pending) - 1
		r := pending[last]
		pending = pending[:last]
		if below[r] {
			continue
		}
		below[r], out[r] = true, true
		pending = append(pending, f.tree.children(r)...)
	}
	return out
}
