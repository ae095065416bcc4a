package clickhouse

import (
	"context"
	"fmt"
	"strings"
	"time"
)

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

// grouped is each for groups by keys. More than maxRows are an error with their name.
func (r *reader) grouped(ctx context.Context, s *selection, cond string, keys []string, name string,
	f func(line) error) error {
	rows := 0
	return r.each(ctx, s, cond, fmt.Sprintf("GROUP BY %s LIMIT %d", names(keys), maxRows+1), func(l line) error {
		if rows++; rows > maxRows {
			return fmt.Errorf("there are more than %d %s", maxRows, name)
		}
		return f(l)
	})
}

// Limits of statements and results.
const (
	readTimeout = 5 * time.Minute // limits the silence of the server
	// maxQueryBytes and maxQueryParts limit a query. A report names every input.
	maxQueryBytes = 8 << 20
	maxQueryParts = 1 << 20
	maxInputs     = 100_000 // limits the inputs of a report
	// maxFileRows limits the rows of a file. A load takes a byte of memory for each.
	maxFileRows = 1 << 31
	maxRows     = 1_000_000 // limits the rows of a table by operation, device or group
)

// selection is the set of rows of a report.
type selection struct {
	db     DB
	table  string
	inputs []*input // the loaded inputs in order; nil for a view
	listed string   // has the ids of the inputs as a list
	// recordedFLOPs ignores derived FLOPs.
	recordedFLOPs bool
}

// checkSettings returns an error if limits of the user's profile would truncate results.
func checkSettings(ctx context.Context, db DB) error {
	var modes []string
	for _, of := range []string{"read", "group_by", "sort", "result", "timeout", "set", "distinct", "transfer"} {
		modes = append(modes, of+"_overflow_mode")
	}
	var name, value string
	from := "system.settings WHERE value != 'throw' AND name IN (" + quoted(modes) + ")"
	return ask(ctx, db, []place{{"name", &name}, {"value", &value}}, from, func() error {
		return fmt.Errorf("the setting %s is %s: answers might lack rows without an error", name, value)
	})
}

// where returns a condition for the rows of a kind of record with cond; "" is all.
func (s *selection) where(record, cond string) string {
	w := "record = " + quote(record)
	if s.listed != "" {
		w += " AND input IN (" + s.listed + ")"
	}
	if cond != "" {
		w += " AND (" + cond + ")"
	}
	return w
}

// order returns expressions that sort rows in the order of the inputs.
func (s *selection) order() string {
	if s.listed == "" {
		return "row, trace_id, span_id"
	}
	return "indexOf([" + s.listed + "], input), row"
}

// query selects places from the rows with a condition, followed by rest.
func (s *selection) query(ctx context.Context, places []place, where, rest string, row func() error) error {
	return ask(ctx, s.db, places, s.from(where, rest), row)
}

func (s *selection) from(where, rest string) string {
	return strings.TrimSuffix(s.table+" WHERE "+where+" "+rest, " ")
}
