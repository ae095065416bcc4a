package livepage

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// answer is the body of a response. Several clients may receive the same answer.
type answer struct {
	data    []byte
	clients int // guarded by sending.mu
}

// sending writes answers to clients. It bounds the memory of unread answers and the time of a client. The zero value is
// ready to use.
type sending struct {
	mu    sync.Mutex
	bytes int64 // of all answers with clients
}

// Limits of answers being sent.
const (
	maxSending = 64 << 20 // bounds the bytes of answers beyond the first one
	// A client that does not take sendChunk bytes in chunkTime, or all within sendTime, is cut off.
	sendChunk = 64 << 10
	chunkTime = 10 * time.Second
	sendTime  = time.Minute
)

// send writes a as the response, or 503 Service Unavailable if clients already have too much to read.
func (s *sending) send(w http.ResponseWriter, kind string, a *answer) {
	if !s.admit(a) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many clients read their answers slowly", http.StatusServiceUnavailable)
		return
	}
	defer s.release(a)
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.data)))
	ctl := http.NewResponseController(w)
	last := time.Now().Add(sendTime)
	for chunk := range slices.Chunk(a.data, sendChunk) {
		deadline := time.Now().Add(chunkTime)
		if deadline.After(last) {
			deadline = last
		}
		_ = ctl.SetWriteDeadline(deadline) // not every ResponseWriter has deadlines
		if _, err := w.Write(chunk); err != nil {
			return // the client is gone or too slow
		}
	}
}

// admit counts a client of a, unless there is no memory for one more answer.
func (s *sending) admit(a *answer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.clients == 0 {
		n := int64(len(a.data))
		if s.bytes > 0 && s.bytes+n > maxSending {
			return false
		}
		s.bytes += n
	}
	a.clients++
	return true
}

func (s *sending) release(a *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.clients--; a.clients == 0 {
		s.bytes -= int64(len(a.data))
	}
}
