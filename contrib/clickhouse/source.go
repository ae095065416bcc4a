package clickhouse

import (
	"context"
	"fmt"
	"strings"
)

// selection is the rows that a report is on.
type selection struct {
	db    DB
	table string
	// inputs are those loaded, in order; nil for a table that other programs fill.
	inputs []*input
	// listed are the same, as a list of numbers.
	listed string
	// recordedFLOPs takes no FLOPs but those recorded.
	recordedFLOPs bool
}

// checkSettings fails where limits of the user's profile would cut answers short.
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

// where returns a condition that holds for the rows of a kind at which cond holds, "" for all.
func (s *selection) where(record, cond string) string {
	w := "record = " + quote(record) + s.inInputs()
	if cond != "" {
		w += " AND (" + cond + ")"
	}
	return w
}

// inInputs returns the end of a condition that holds for the rows of the inputs.
func (s *selection) inInputs() string {
	if s.listed == "" {
		return ""
	}
	return " AND input IN (" + s.listed + ")"
}

// order returns expressions that sort rows as the inputs have them.
func (s *selection) order() string {
	if s.listed == "" {
		return "row, trace_id, span_id"
	}
	return "indexOf([" + s.listed + "], input), row"
}

// query asks for the rows at which a condition holds, and what rest says.
func (s *selection) query(ctx context.Context, places []place, where, rest string, row func() error) error {
	return ask(ctx, s.db, places, s.from(where, rest), row)
}

func (s *selection) from(where, rest string) string {
	return strings.TrimSuffix(s.table+" WHERE "+where+" "+rest, " ")
}
