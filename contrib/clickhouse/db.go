package clickhouse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// DB is what speaks to ClickHouse. It is safe for concurrent use.
type DB interface {
	// Exec runs a statement that returns nothing.
	Exec(ctx context.Context, statement string) error
	// Query runs a query and calls row for each row of the answer. Scan stores the
	// columns of the row: pointers to integers, texts, numbers, lists of these, and
	// pointers to such pointers for what may be null. An answer that is not whole is an
	// error.
	Query(ctx context.Context, query string, row func(scan func(places ...any) error) error) error
	// Insert begins to insert rows into columns of a table. The id is that of the
	// statement on the server, where "" is any.
	Insert(ctx context.Context, id, table string, columns []string) (Batch, error)
}

// place is an expression that is asked for, and a pointer to where its value goes.
type place struct {
	expr string
	to   any
}

// ask runs a query, SELECT the places FROM what from says, and calls row for each row of the answer, which is at the
// places then.
func ask(ctx context.Context, db DB, places []place, from string, row func() error) error {
	var exprs []string
	var to []any
	for _, p := range places {
		exprs, to = append(exprs, p.expr), append(to, p.to)
	}
	return db.Query(ctx, "SELECT "+names(exprs)+" FROM "+from, func(scan func(...any) error) error {
		if err := scan(to...); err != nil {
			return err
		}
		return row()
	})
}

// Batch is rows that are being inserted.
type Batch interface {
	// Append adds a row and keeps nothing of it.
	Append(values ...any) error
	// Send inserts the rows and returns when all shards have them.
	Send() error
	// Abort gives the rows up, unless they were sent.
	Abort() error
}

// Options says how to connect.
type Options struct {
	// Addr is host and port of the native protocol.
	Addr           string
	Database       string
	User, Password string
	Secure         bool // TLS
}

// Conn is a DB by the native protocol.
type Conn struct{ conn driver.Conn }

// Open returns a DB. It connects when it is first used.
func Open(o Options) (*Conn, error) {
	c := &clickhouse.Options{
		Addr: []string{o.Addr},
		Auth: clickhouse.Auth{Database: o.Database, Username: o.User, Password: o.Password},
		// A connection is free again when the answer of a query was read.
		MaxOpenConns: 4, MaxIdleConns: 2,
		Compression: &clickhouse.Compression{Method: clickhouse.CompressionLZ4},
		ReadTimeout: readTimeout,
	}
	if o.Secure {
		c.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	conn, err := clickhouse.Open(c)
	if err != nil {
		return nil, fmt.Errorf("connecting to ClickHouse: %w", err)
	}
	return &Conn{conn}, nil
}

// Close closes the connections.
func (c *Conn) Close() error { return c.conn.Close() }

// Exec runs a statement.
func (c *Conn) Exec(ctx context.Context, statement string) error { return c.conn.Exec(ctx, statement) }

// Query runs a query with settings under which a part of the answer is never taken
// for all of it.
func (c *Conn) Query(ctx context.Context, query string, row func(scan func(...any) error) error) error {
	settings := clickhouse.Settings{ // whatever the profile of the user has
		"skip_unavailable_shards": 0, "distributed_group_by_no_merge": 0,
		"max_query_size": maxQueryBytes, "max_ast_elements": maxQueryParts, "max_expanded_ast_elements": maxQueryParts,
	}
	rows, err := c.conn.Query(clickhouse.Context(ctx, clickhouse.WithSettings(settings)), query)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// Insert begins to insert rows.
func (c *Conn) Insert(ctx context.Context, id, table string, columns []string) (Batch, error) {
	options := []clickhouse.QueryOption{clickhouse.WithSettings(clickhouse.Settings{"insert_distributed_sync": 1})}
	if id != "" {
		options = append(options, clickhouse.WithQueryID(id))
	}
	return c.conn.PrepareBatch(clickhouse.Context(ctx, options...), "INSERT INTO "+table+" ("+names(columns)+")")
}
