package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

// loader loads a file.
type loader struct {
	db   DB
	in   *input
	opts LoadOptions
	list []column

	there []bool // by number: rows already in the table

	row      row
	values   []any
	batch    Batch // nil between batches
	rows     int   // in batch
	bytes    int
	begun    int // batches
	inserted uint64
}

// insertPrefix starts the query ids of the file's inserts.
func (l *loader) insertPrefix() string { return fmt.Sprintf("optrace-load-%016x-", l.in.id) }

// Waits for inserts of an interrupted load.
const (
	insertPause = 100 * time.Millisecond
	insertWait  = time.Minute
)

// awaitInserts waits until the server runs no insert of the file.
func (l *loader) awaitInserts(ctx context.Context) error {
	var running uint64
	from := "system.processes WHERE query_id LIKE " + quote(l.insertPrefix()+"%")
	for deadline := time.Now().Add(insertWait); ; {
		err := ask(ctx, l.db, []place{{"count()", &running}}, from, func() error { return nil })
		switch {
		case err != nil:
			return fmt.Errorf("looking for other loads: %w", err)
		case running == 0:
			return nil
		case time.Now().After(deadline):
			return errors.New("another load of the file is running")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(insertPause):
		}
	}
}

// findRows returns which rows of the file are in the table. A duplicate is an error.
func (l *loader) findRows(ctx context.Context) (there []bool, err error) {
	var number uint64
	err = ask(ctx, l.db, []place{{"row", &number}}, fmt.Sprintf("%s WHERE input = %d", tableOps, l.in.id),
		func() error {
			if number >= maxFileRows {
				return fmt.Errorf("the table has row %d of the file, and files have %d at most", number, maxFileRows)
			}
			if more := int(number) + 1 - len(there); more > 0 {
				there = append(there, make([]bool, more)...)
			}
			if there[number] {
				return fmt.Errorf("row %d is in the table twice, and the file in no report: %s", number, l.remedy())
			}
			there[number] = true
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("looking for rows: %w", err)
	}
	return there, nil
}

// remedy tells how to remove wrong rows.
func (l *loader) remedy() string {
	return fmt.Sprintf("ALTER TABLE … DELETE WHERE input = %d removes what is there of it", l.in.id)
}

// load reads the file and inserts the missing rows.
func (l *loader) load(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var err error
	if l.there, err = l.findRows(ctx); err != nil {
		return err
	}
	src := ingest.Options{Format: l.opts.Format, Mapping: l.opts.Mapping, MaxMemory: l.opts.MaxMemory}.Open(l.in.path)
	var failed error
	env, err := analyze.Read(ctx, src, func(rec op.Record) {
		if failed == nil {
			if failed = l.add(ctx, rec); failed != nil {
				cancel(failed)
			}
		}
	})
	err = errors.Join(failed, err)
	if err == nil {
		err = l.send()
	}
	if l.batch != nil { // after an error
		err = errors.Join(err, l.batch.Abort())
	}
	if err != nil {
		return err
	}
	l.in.envelope = *env
	return nil
}

// add adds the row of a record to the batch unless the table has it.
func (l *loader) add(ctx context.Context, rec op.Record) error {
	if t := rec.Total; t != nil {
		l.in.statedMore += t.Stated - t.Sum
		l.in.states = l.in.states || t.Stated != t.Sum
		return nil
	}
	if !l.row.set(rec) {
		return nil
	}
	n := l.in.rows
	l.in.rows++
	if n < uint64(len(l.there)) && l.there[n] {
		return nil
	}
	l.row.input = l.in.id
	l.row.number = n
	return l.insert(ctx)
}

func (l *loader) insert(ctx context.Context) error {
	if l.batch == nil {
		batch, err := l.db.Insert(ctx, fmt.Sprintf("%s%d", l.insertPrefix(), l.begun), tableOps, namesOf(l.list))
		if err != nil {
			return fmt.Errorf("inserting: %w", err)
		}
		l.batch = batch
		l.begun++
	}
	l.values = l.row.values(l.values[:0], l.list)
	if err := l.batch.Append(l.values...); err != nil {
		return fmt.Errorf("inserting row %d: %w", l.row.number, err)
	}
	l.rows++
	l.bytes += l.row.size()
	if l.rows >= l.opts.BatchRows || l.bytes >= l.opts.BatchBytes {
		return l.send()
	}
	return nil
}

// send inserts the batch, if any.
func (l *loader) send() error {
	if l.batch == nil {
		return nil
	}
	if err := l.batch.Send(); err != nil {
		return fmt.Errorf("inserting: %w", err)
	}
	l.inserted += uint64(l.rows)
	l.batch = nil
	l.rows = 0
	l.bytes = 0
	return nil
}

// check returns an error unless the table has exactly the rows of the file.
func (l *loader) check(ctx context.Context) error {
	there, err := l.findRows(ctx)
	if err != nil {
		return err
	}
	if more := len(there) - int(l.in.rows); more > 0 {
		return fmt.Errorf("the table has %d rows beyond the file's %d: was it read otherwise before? %s", more,
			l.in.rows, l.remedy())
	}
	if missing := slices.Index(append(there, false), false); missing < int(l.in.rows) {
		return fmt.Errorf("the table lacks row %d of the file; repeat the load", missing)
	}
	return nil
}
