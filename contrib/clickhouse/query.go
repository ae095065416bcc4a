package clickhouse

import "context"

type line map[string]any

// reader scans the rows of a result into places and makes objects of them.
type reader struct {
	places  []place
	members []func(line)
}

func (r *reader) add(expr string, to any) { r.places = append(r.places, place{expr, to}) }

// member adds a column as a member of the object.
func member[T any](r *reader, name, expr string) {
	place := new(T)
	r.add(expr, place)
	r.members = append(r.members, func(l line) { l[name] = *place })
}

func (r *reader) count(name, cond string) { member[uint64](r, name, "countIf("+cond+")") }

func (r *reader) sum(name string, terms []term) {
	values := make([]uint64, len(terms))
	for i, t := range terms {
		r.add(t.expr, &values[i])
	}
	r.members = append(r.members, func(l line) { l[name] = total(terms, values) })
}

func (r *reader) object(name, cond string, add func()) {
	var n uint64
	r.add("countIf("+cond+")", &n)
	outer := r.members
	r.members = nil
	add()
	inner := r.members
	r.members = append(outer, func(l line) {
		if n > 0 {
			l[name] = object(inner)
		}
	})
}

// object returns the object of the current row.
func object(members []func(line)) line {
	l := make(line, len(members))
	for _, set := range members {
		set(l)
	}
	return l
}

// each runs a query on entries and calls f with the object of each row.
func (r *reader) each(ctx context.Context, s *selection, cond, rest string, f func(line) error) error {
	return s.query(ctx, r.places, s.where(recordEntry, cond), rest, func() error { return f(object(r.members)) })
}
