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

// newSelection returns the rows of all inputs that are in the table as a whole, or of a view.
func newSelection(ctx context.Context, db DB, view string) (*selection, error) {
	if err := checkSettings(ctx, db); err != nil {
		return nil, err
	}
	if view != "" {
		return &selection{db: db, table: view, recordedFLOPs: true}, nil
	}
	inputs, err := readInputs(ctx, db)
	if err != nil {
		return nil, err
	}
	s := &selection{db: db, table: tableOps, inputs: inputs}
	var list strings.Builder
	for i, in := range inputs {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, "%d", in.id)
	}
	s.listed = list.String()
	return s, nil
}

// checkSettings fails where limits of the user's profile would cut answers short.
func checkSettings(ctx context.Context, db DB) error {
	var modes []string
	for _, of := range []string{"read", "group_by", "sort", "result", "timeout", "set", "distinct", "transfer"} {
		modes = append(modes, quote(of+"_overflow_mode"))
	}
	query := "SELECT name, value FROM system.settings WHERE value != 'throw' AND name IN (" + names(modes) + ")"
	return db.Query(ctx, query, func(scan func(...any) error) error {
		var name, value string
		if err := scan(&name, &value); err != nil {
			return err
		}
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

// entries runs a query on entries: SELECT columns FROM the table WHERE cond, and what rest says.
func (s *selection) entries(ctx context.Context, columns []string, cond, rest string, row func(scan func(...any) error) error) error {
	return s.query(ctx, columns, s.where(recordEntry, cond), rest, row)
}

func (s *selection) query(ctx context.Context, columns []string, where, rest string, row func(scan func(...any) error) error) error {
	query := "SELECT " + names(columns) + " FROM " + s.table + " WHERE " + where
	if rest != "" {
		query += " " + rest
	}
	return s.db.Query(ctx, query, row)
}
