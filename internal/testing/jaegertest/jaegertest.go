// Package jaegertest runs a real Jaeger for tests, if the environment names one:
//
//	OPTRACE_JAEGER_BIN=/path/to/jaeger go test ./...
//
// The binary is Jaeger 1.76 or later, also 2.x, built from its cmd/jaeger. Without it tests are skipped.
package jaegertest

import (
	"bytes"
	_ "embed"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace/internal/testing/check"
)

// BinaryVariable is the environment variable with the path of the binary.
const BinaryVariable = "OPTRACE_JAEGER_BIN"

// config keeps traces in memory, and receives and answers on loopback ports, which Start replaces by free ones.
//
//go:embed jaeger.yaml
var config string

// Server is a Jaeger under test.
type Server struct {
	Query string // the address of its pages and of its API
	OTLP  string // the address of its receiver for OTLP over HTTP
}

const startTimeout = time.Minute // bounds the time until Jaeger answers

// Start starts an empty Jaeger and stops it when the test ends.
func Start(tb testing.TB) *Server {
	tb.Helper()
	binary := os.Getenv(BinaryVariable)
	if binary == "" {
		tb.Skip("needs the path of a Jaeger in " + BinaryVariable + ", as .ci/jaeger sets it")
	}
	addresses := make(map[string]string)
	var replaced []string
	for _, port := range []string{"16686", "16685", "4317", "4318"} {
		addresses[port] = freeAddress(tb)
		replaced = append(replaced, "127.0.0.1:"+port, addresses[port])
	}
	path := filepath.Join(tb.TempDir(), "jaeger.yaml")
	text := strings.NewReplacer(replaced...).Replace(config) // in one pass: a free port may begin as another one of these
	check.OK(tb, os.WriteFile(path, []byte(text), 0o600))
	var output bytes.Buffer
	cmd := exec.CommandContext(tb.Context(), binary, "--config", path)
	cmd.Stdout, cmd.Stderr = &output, &output
	check.OK(tb, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
		if tb.Failed() {
			tb.Logf("Jaeger's output:\n%s", output.Bytes())
		}
	})
	s := &Server{Query: "http://" + addresses["16686"], OTLP: "http://" + addresses["4318"]}
	s.await(tb, ended)
	return s
}

// freeAddress returns an unused loopback address.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	l := check.Must(new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0"))(tb)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// await waits until Jaeger answers on both addresses.
func (s *Server) await(tb testing.TB, ended <-chan struct{}) {
	tb.Helper()
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		select {
		case <-ended:
			tb.Fatal("Jaeger ended")
		default:
		}
		if s.answers(tb, s.Query+"/api/v3/services") && s.answers(tb, s.OTLP) {
			return
		}
	}
	tb.Fatalf("Jaeger does not answer within %v", startTimeout)
}

func (s *Server) answers(tb testing.TB, url string) bool {
	tb.Helper()
	req := check.Must(http.NewRequestWithContext(tb.Context(), http.MethodGet, url, nil))(tb)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // nothing was read
	return true
}

// Send sends spans in an OTLP JSON document and waits for Jaeger's answer.
func (s *Server) Send(tb testing.TB, document []byte) {
	tb.Helper()
	to := s.OTLP + "/v1/traces"
	req := check.Must(http.NewRequestWithContext(tb.Context(), http.MethodPost, to, bytes.NewReader(document)))(tb)
	req.Header.Set("Content-Type", "application/json")
	resp := check.Must(http.DefaultClient.Do(req))(tb)
	defer func() { _ = resp.Body.Close() }()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		tb.Fatalf("sending spans: %s: %s, %v", resp.Status, body, err)
	}
}
