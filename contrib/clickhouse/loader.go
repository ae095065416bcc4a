package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

// loader loads a file. One goroutine reads and adds rows to a batch, while another one sends
// the batch before.
type loader struct {
	db    DB
	in    *input
	opts  LoadOptions
	list  []column
	names []string

	// chunks has how many rows of each chunk of BatchRows rows are in the table before
	// anything is inserted, and there the numbers of those of the present chunk where it has
	// a part of them.
	chunks map[uint64]uint64
	there  map[uint64]bool

	row    row
	values []any
	batch  Batch // nil between batches
	rows   int   // of batch
	bytes  int
	begun  int // batches

	sending  chan error // has the error of a batch once it was sent; nil for none
	sent     uint64     // rows of that batch
	inserted uint64
}

func newLoader(db DB, in *input, opts LoadOptions) *loader {
	list := columns()
	return &loader{db: db, in: in, opts: opts, list: list, names: namesOf(list)}
}

// insertPrefix starts the ids of the statements that insert rows of the file.
func (l *loader) insertPrefix() string { return fmt.Sprintf("optrace-load-%016x-", l.in.id) }

// The waits for the inserts of a load that was ended.
const (
	insertPause = 100 * time.Millisecond
	insertWait  = time.Minute
)

// awaitInserts waits until the server inserts nothing of the file.
func (l *loader) awaitInserts(ctx context.Context) error {
	query := "SELECT count() FROM system.processes WHERE query_id LIKE " + quote(l.insertPrefix()+"%")
	for deadline := time.Now().Add(insertWait); ; {
		running, err := l.count(ctx, query)
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

func (l *loader) count(ctx context.Context, query string) (n uint64, err error) {
	err = l.db.Query(ctx, query, func(scan func(...any) error) error { return scan(&n) })
	return n, err
}

func (l *loader) findChunks(ctx context.Context) error {
	l.chunks = make(map[uint64]uint64)
	query := fmt.Sprintf("SELECT intDiv(row, %d) AS chunk, count() FROM %s WHERE input = %d GROUP BY chunk",
		l.opts.BatchRows, tableOps, l.in.id)
	err := l.db.Query(ctx, query, func(scan func(...any) error) error {
		var chunk, n uint64
		err := scan(&chunk, &n)
		l.chunks[chunk] = n
		return err
	})
	if err != nil {
		return fmt.Errorf("looking for rows: %w", err)
	}
	return nil
}

// load reads the file and inserts the rows that are not there.
func (l *loader) load(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
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
	if err = errors.Join(err, l.settle()); err != nil {
		return err
	}
	l.in.envelope = *env
	return nil
}

// add adds the row of a record to the batch, unless it is in the table.
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
	if n%uint64(l.opts.BatchRows) == 0 {
		if err := l.startChunk(ctx, n); err != nil {
			return err
		}
	}
	if l.there[n] || l.isFull(n) {
		return nil
	}
	l.row.input, l.row.number = l.in.id, n
	return l.insert(ctx)
}

// isFull reports whether the chunk of row n was in the table.
func (l *loader) isFull(n uint64) bool {
	return l.chunks[n/uint64(l.opts.BatchRows)] == uint64(l.opts.BatchRows)
}

// startChunk sends what the chunk before has, and finds the rows that this one has in the table.
func (l *loader) startChunk(ctx context.Context, first uint64) error {
	if err := l.send(); err != nil {
		return err
	}
	l.there = nil
	n := l.chunks[first/uint64(l.opts.BatchRows)]
	if n == 0 || l.isFull(first) {
		return nil
	}
	l.there = make(map[uint64]bool, n)
	query := fmt.Sprintf("SELECT row FROM %s WHERE input = %d AND row >= %d AND row < %d",
		tableOps, l.in.id, first, first+uint64(l.opts.BatchRows))
	err := l.db.Query(ctx, query, func(scan func(...any) error) error {
		var number uint64
		err := scan(&number)
		l.there[number] = true
		return err
	})
	if err != nil {
		return fmt.Errorf("looking for rows: %w", err)
	}
	return nil
}

func (l *loader) insert(ctx context.Context) error {
	if l.batch == nil {
		batch, err := l.db.Insert(ctx, fmt.Sprintf("%s%d", l.insertPrefix(), l.begun), tableOps, l.names)
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
	if l.bytes += l.row.size(); l.bytes >= l.opts.BatchBytes {
		return l.send()
	}
	return nil
}

// send hands the batch to a goroutine that sends it, once the one before was sent.
func (l *loader) send() error {
	if l.batch == nil {
		return nil
	}
	if err := l.settle(); err != nil {
		return err
	}
	batch, done := l.batch, make(chan error, 1)
	l.sending, l.sent = done, uint64(l.rows)
	l.batch, l.rows, l.bytes = nil, 0, 0
	go func() { done <- batch.Send() }()
	return nil
}

// settle waits until a batch that is on its way was sent.
func (l *loader) settle() error {
	if l.sending == nil {
		return nil
	}
	err := <-l.sending
	l.sending = nil
	if err != nil {
		return fmt.Errorf("inserting: %w", err)
	}
	l.inserted += l.sent
	if l.opts.Inserted != nil {
		l.opts.Inserted(l.inserted)
	}
	return nil
}

func (l *loader) check(ctx context.Context) error {
	if err := l.findChunks(ctx); err != nil {
		return err
	}
	size := uint64(l.opts.BatchRows)
	for first := uint64(0); first < l.in.rows; first += size {
		chunk := first / size
		if want := min(size, l.in.rows-first); l.chunks[chunk] != want {
			return fmt.Errorf("the table has %d rows in place of the %d from %d on, and the file is in no report: "+
				"ALTER TABLE … DELETE WHERE input = %d removes what is there of it", l.chunks[chunk], want, first, l.in.id)
		}
		delete(l.chunks, chunk)
	}
	if len(l.chunks) > 0 {
		return fmt.Errorf("the table has rows of the file beyond its %d: was it read otherwise before? "+
			"ALTER TABLE … DELETE WHERE input = %d removes them", l.in.rows, l.in.id)
	}
	return nil
}
