package mcp

import (
	"bytes"
	"crypto/subtle"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/optrace/optrace/internal/serve/loopback"
)

// Path is the path of the protocol in HTTP requests.
const Path = "/mcp"

const maxRequest = 1 << 20 // bounds a request in bytes

// Handler returns the handler of the protocol over HTTP, without sessions. It answers requests for the hosts that have
// the token.
func (s *Server) Handler(hosts loopback.Hosts, token string) http.Handler {
	server := s.server()
	protocol := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true})
	mux := http.NewServeMux()
	mux.HandleFunc(Path, func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "give the token of the server: Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		// The deadline for reading would end a call too.
		until := time.Now().Add(s.opts.Timeout + loopback.WriteTimeout)
		c := http.NewResponseController(w)
		_ = c.SetReadDeadline(until) // a recorder of a test has no deadlines
		_ = c.SetWriteDeadline(until)
		protocol.ServeHTTP(w, r)
	})
	return hosts.Handler(mux)
}
