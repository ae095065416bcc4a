// Package loopback serves HTTP to the programs and browsers of one machine, or of a few: it refuses requests for other
// hosts' names, and bounds times, sizes and connections. Its callers provide the handlers.
package loopback

import (
	"context"
	"errors"
	"log" //nolint:depguard // http.Server takes a log.Logger
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

// Limits of a server.
const (
	// MaxConnections bounds the open connections of a server. Idle ones make room for waiting ones.
	MaxConnections = 1536
	// MaxHeaderBytes bounds the header of a request.
	MaxHeaderBytes = 64 << 10
	// ReadTimeout bounds the arrival of a request unless its handler allows more, WriteTimeout the time to answer after
	// that, and IdleTimeout the time between requests.
	ReadTimeout  = 4 * time.Second
	WriteTimeout = time.Minute
	IdleTimeout  = 2 * time.Minute
	// streams bounds the concurrent HTTP/2 requests of a connection, and streamBytes the unread bytes of each.
	streams     = 16
	streamBytes = 64 << 10
	grace       = 2 * time.Second // the time for open requests when a server ends
)

// Listen listens on a TCP address, for a bounded number of connections.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return netutil.LimitListener(l, MaxConnections), nil
}

// Serve answers requests of HTTP/1 and HTTP/2 until ctx is done.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	broken := &errorLog{to: log.Writer()}
	defer broken.stop()
	s := &http.Server{
		ErrorLog: broken.logger(),
		Handler:  h, MaxHeaderBytes: MaxHeaderBytes, ReadHeaderTimeout: ReadTimeout, ReadTimeout: ReadTimeout,
		WriteTimeout: ReadTimeout + WriteTimeout, IdleTimeout: IdleTimeout, Protocols: new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: streams, MaxReceiveBufferPerConnection: streamBytes,
			MaxReceiveBufferPerStream: streamBytes,
		},
		ConnState: (&connections{known: make(map[net.Conn]time.Time)}).changed,
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if s.Shutdown(last) != nil {
			_ = s.Close() // end the remaining requests
		}
	})
	err := s.Serve(l)
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// connections closes the connection with the longest idle time when the limit is reached.
type connections struct {
	mu    sync.Mutex
	known map[net.Conn]time.Time // start of idle time; zero while busy
}

func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateClosed, http.StateHijacked:
		delete(c.known, conn)
		return
	case http.StateNew, http.StateIdle:
		c.known[conn] = time.Now()
	default:
		c.known[conn] = time.Time{}
	}
	if len(c.known) < MaxConnections {
		return
	}
	var oldest net.Conn
	for other, since := range c.known {
		if !since.IsZero() && (oldest == nil || since.Before(c.known[oldest])) {
			oldest = other
		}
	}
	if oldest != nil {
		delete(c.known, oldest)
		_ = oldest.Close() // its client connects again
	}
}

// Hosts are the names of a server, besides addresses and localhost. They defend against DNS rebinding: a page of
// another site whose name resolves to this machine passes the browser's check of origins, but its requests have that
// name.
type Hosts []string

// Allow reports whether requests for a host, with or without a port, are answered.
func (h Hosts) Allow(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if _, err := netip.ParseAddr(host); err == nil {
		return true // an address cannot be rebound
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.Contains(h, host)
}

// Handler returns a handler that answers only requests for the hosts. It refuses requests by pages of another origin,
// unless the user follows a link to this server.
func (h Hosts) Handler(next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.Allow(r.Host) {
			http.Error(w, "the host name in the request is not one of this server", http.StatusMisdirectedRequest)
			return
		}
		if isForeign(r) {
			http.Error(w, "this server does not answer pages of other sites", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isForeign reports whether a page of another origin reads, by fetch, an image, a script or a frame.
// CrossOriginProtection checks requests that write.
func isForeign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}
