package livepage

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/optrace/optrace/internal/testing/check"
)

// stuck is the ResponseWriter of a client that does not read until it is cut off.
type stuck struct {
	header   http.Header
	writing  chan struct{}
	cut      chan struct{}
	deadline time.Time
}

func newStuck() *stuck {
	return &stuck{header: make(http.Header), writing: make(chan struct{}), cut: make(chan struct{})}
}

func (s *stuck) Header() http.Header { return s.header }

func (s *stuck) WriteHeader(int) {}

func (s *stuck) SetWriteDeadline(t time.Time) error {
	s.deadline = t
	return nil
}

func (s *stuck) Write([]byte) (int, error) {
	close(s.writing)
	<-s.cut
	return 0, errors.New("i/o timeout")
}

// A client that does not read its answer delays no other client, and has a deadline.
func TestStuckClientDelaysNoOther(t *testing.T) {
	w := NewWindow(Limits{})
	fill(w.Input(""), mixed(50))
	p := &Page{Window: w}
	for _, path := range []string{"/", "/data", "/trace.json", "/?format=json"} {
		client, done := newStuck(), make(chan struct{})
		go func() {
			p.ServeHTTP(client, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			close(done)
		}()
		<-client.writing
		check.Equal(t, path+" of another client", http.StatusOK, get(t, p, path).StatusCode)
		if wait := time.Until(client.deadline); wait <= 0 || wait > chunkTime {
			t.Errorf("%s: the client is cut off in %v", path, wait)
		}
		close(client.cut)
		<-done
	}
	check.Equal(t, "bytes being sent in the end", 0, p.sending.bytes)
}

// Unread answers take a bounded amount of memory, and one answer to many clients counts once.
func TestUnreadAnswersAreBounded(t *testing.T) {
	var s sending
	large := func() *answer { return &answer{data: make([]byte, maxSending/2)} }
	shared := large()
	for _, tt := range []struct {
		name string
		a    *answer
		want bool
	}{
		{"first", shared, true}, {"same", shared, true}, {"second", large(), true}, {"third", large(), false},
	} {
		check.Equal(t, tt.name, tt.want, s.admit(tt.a))
	}
	refused := httptest.NewRecorder()
	s.send(refused, plain, large())
	check.Equal(t, "third", http.StatusServiceUnavailable, refused.Code)
	s.release(shared)
	check.Equal(t, "third, while another client reads the first", false, s.admit(large()))
	s.release(shared)
	check.Equal(t, "third, in place of the first", true, s.admit(large()))
	var alone sending
	check.Equal(t, "an answer beyond the limit, alone", true, alone.admit(&answer{data: make([]byte, maxSending+1)}))
}
