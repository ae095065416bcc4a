package clickhouse

import (
	"context"
	"fmt"
	"strings"
)

// selection is the set of rows of a report.
type selection struct {
	db    DB
	table string
	// inputs are the loaded inputs in order; nil for a view.
	inputs []*input
	// listed has the ids of the inputs as a list.
	listed string
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

func (s *selection) isEmpty() bool { return s.table == tableOps && len(s.inputs) == 0 }

// where returns a condition for the rows of a kind of record with cond; "" is all.
func (s *selection) where(record, cond string) string {
	w := "record = " + quote(record) + s.inInputs()
	if cond != "" {
		w += " AND (" + cond + ")"
	}
	return w
}

// inInputs returns the end of a condition that selects the inputs.
func (s *selection) inInputs() string {
	if s.listed == "" {
		return ""
	}
	return " AND input IN (" + s.listed + ")"
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
