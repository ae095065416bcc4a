package main

import (
	"flag"
	"os"

	"github.com/optrace/optrace/contrib/clickhouse"
)

// connection has the flags that say how to connect.
type connection struct{ options clickhouse.Options }

func (c *connection) define(fs *flag.FlagSet) {
	o := &c.options
	fs.StringVar(&o.Addr, "addr", "127.0.0.1:9000", "`HOST:PORT` of a server's native protocol")
	fs.StringVar(&o.Database, "database", "default", "`NAME` of the database")
	fs.StringVar(&o.User, "user", "default", "`NAME` of the user; the password is $CLICKHOUSE_PASSWORD")
	fs.BoolVar(&o.Secure, "secure", false, "connect by TLS")
}

// open returns the database. The caller closes it.
func (c *connection) open() (*clickhouse.Conn, error) {
	c.options.Password = os.Getenv("CLICKHOUSE_PASSWORD")
	return clickhouse.Open(c.options)
}
