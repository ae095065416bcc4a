package completions

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/optrace/optrace/internal/testing/check"
)

func TestBadRequests(t *testing.T) {
	s := &Service{Tracer: noop.NewTracerProvider().Tracer(""), MaxPrompt: 768, MaxTokens: 256}
	for _, body := range []string{
		"", "{}", `{"prompt":"a"}`, `{"prompt":"a","max_tokens":-1}`, `{"prompt":"","max_tokens":1}`,
		`{"prompt":"a","max_tokens":257}`,
		`{"prompt":"` + strings.Repeat("a", s.MaxPrompt+1) + `","max_tokens":1}`,
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, Route, strings.NewReader(body)))
		check.Equal(t, fmt.Sprintf("%q: status", body), http.StatusBadRequest, w.Code)
	}
}
