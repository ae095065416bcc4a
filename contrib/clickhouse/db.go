package clickhouse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// DB is a connection to ClickHouse. It is safe for concurrent use.
type DB interface {
	// Exec runs a statement without a result.
	Exec(ctx context.Context, statement string) error
	// Query runs a query and calls row for each row. scan stores the columns in places: pointers to integers, texts,
	// numbers and lists, and pointers to pointers for nullable columns. A partial result is an error.
	Query(ctx context.Context, query string, row func(scan func(places ...any) error) error) error
	// Insert prepares an insert into columns of a table. id becomes the query id of the statement; "" lets
	// the server choose.
	Insert(ctx context.Context, id, table string, columns []string) (Batch, error)
}

// place is an expression and a pointer for its value.
type place struct {
	expr string
	to   any
}

// ask runs SELECT places FROM from. It scans each row into the places and then calls row.
func ask(ctx context.Context, db DB, places []place, from string, row func() error) error {
	var exprs []string
	var to []any
	for _, p := range places {
		exprs = append(exprs, p.expr)
		to = append(to, p.to)
	}
	return db.Query(ctx, "SELECT "+names(exprs)+" FROM "+from, func(scan func(...any) error) error {
		if err := scan(to...); err != nil {
			return err
		}
		return row()
	})
}

// Batch is an insert in progress.
type Batch interface {
	// Append copies a row into the batch.
	Append(values ...any) error
	// Send inserts the rows and waits for all shards.
	Send() error
	// Abort discards the rows unless they were sent.
	Abort() error
}

// Options are the parameters of a connection.
type Options struct {
	// Addr is host and port of the native protocol.
	Addr           string
	Database       string
	User, Password string
	Secure         bool // TLS
}

// Conn is a DB for the native protocol.
type Conn struct{ conn driver.Conn }

// Open returns a DB. It connects on first use.
func Open(o Options) (*Conn, error) {
	c := &clickhouse.Options{
		Addr: []string{o.Addr},
		Auth: clickhouse.Auth{Database: o.Database, Username: o.User, Password: o.Password},
		// A query holds its connection until its result has been read.
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

// Query runs a query. Its settings turn a partial result into an error.
func (c *Conn) Query(ctx context.Context, query string, row func(scan func(...any) error) error) error {
	settings := clickhouse.Settings{ // override the user's profile
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

// Insert prepares an insert.
func (c *Conn) Insert(ctx context.Context, id, table string, columns []string) (Batch, error) {
	options := []clickhouse.QueryOption{clickhouse.WithSettings(clickhouse.Settings{"insert_distributed_sync": 1})}
	if id != "" {
		options = append(options, clickhouse.WithQueryID(id))
	}
	return c.conn.PrepareBatch(clickhouse.Context(ctx, options...), "INSERT INTO "+table+" ("+names(columns)+")")
}
