package recall

// The rhythm of a Table: how many look-ups it watches, how few hits among them
// make it rest, and for how many look-ups it rests then, at first and at most.
const (
	watched   = 1 << 16
	fewHits   = watched / 4
	firstRest = 4 * watched
	longRest  = 64 * watched
)

// rest keeps a Table from looking for what does not repeat. At the longest rest
// the looking costs a sixty-fourth of what it did.
type rest struct {
	lookups, hits int
	rests         int // look-ups that are still to be left out
	next          int // the length of the next rest
}

// resting notes a look-up and reports whether it is to be left out.
func (r *rest) resting() bool {
	if r.rests > 0 {
		r.rests--
		return true
	}
	if r.lookups++; r.lookups < watched {
		return false
	}
	if r.hits < fewHits {
		r.next = min(max(firstRest, 2*r.next), longRest)
		r.rests = r.next
	} else {
		r.next = 0
	}
	r.lookups, r.hits = 0, 0
	return r.rests > 0
}

// The rhythm of guesses, which are checked more often because a change of the
// order costs little to learn.
const (
	guessed    = 1 << 10
	fewGuesses = guessed / 4
	noGuesses  = 16 * guessed
)

// luck tells whether to guess.
type luck struct{ tries, hits, pause int }

// worthwhile notes a try and reports whether it is to be made.
func (l *luck) worthwhile() bool {
	if l.pause > 0 {
		l.pause--
		return false
	}
	if l.tries++; l.tries == guessed {
		if l.hits < fewGuesses {
			l.pause = noGuesses
		}
		l.tries, l.hits = 0, 0
	}
	return true
}
