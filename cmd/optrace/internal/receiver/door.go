package receiver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
)

// Limits of the requests of one protocol.
const (
	// MaxRequestBytes bounds a request, before and after decompression.
	MaxRequestBytes = 20 << 20
	// MaxRequests bounds the requests read at a time.
	MaxRequests = 8
	// Requests slower than slowBytes in slowTime, or longer than arrival, are given up.
	arrival   = 15 * time.Second
	slowTime  = 4 * time.Second
	slowBytes = 64 << 10
	maxWork   = 10 * time.Second // bounds the time to read a request
)

// refusal is a reason to refuse a request, for HTTP and gRPC.
type refusal struct {
	status int
	code   codes.Code
	msg    string
}

// Error returns the reason.
func (r *refusal) Error() string { return r.msg }

var (
	errBusy     = &refusal{http.StatusServiceUnavailable, codes.Unavailable, "too many requests at a time"}
	errSlow     = &refusal{http.StatusRequestTimeout, codes.DeadlineExceeded, "the request arrives too slowly"}
	errTooLarge = &refusal{http.StatusRequestEntityTooLarge, codes.ResourceExhausted, "the request is too large"}
	errEncoding = &refusal{http.StatusUnsupportedMediaType, codes.Unimplemented, "the content encoding is gzip or none"}
	errEmpty    = &refusal{http.StatusBadRequest, codes.InvalidArgument, "the request is empty"}
	errMemory   = &refusal{http.StatusRequestEntityTooLarge, codes.ResourceExhausted,
		"the request exceeds the memory for requests"}
	errLong = &refusal{http.StatusServiceUnavailable, codes.Unavailable, "the request takes too long to read"}
)

func refusalOf(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	return &refusal{http.StatusBadRequest, codes.InvalidArgument, err.Error()}
}

// door admits the requests of one protocol. Slow and waiting requests do not block others.
type door struct {
	turns    chan struct{} // one for each running request
	memory   *memory
	patience time.Duration // the longest wait of a complete request for its turn
}

func newDoor(m *memory) *door {
	return &door{turns: make(chan struct{}, MaxRequests), memory: m, patience: 2 * time.Second}
}

// memory is the memory of all arriving, waiting and running requests.
type memory struct {
	limit int64
	held  atomic.Int64
}

// share is one request's part of the memory.
type share struct {
	all     *memory
	held    int64
	refused error // set once memory was refused
}

// hold adds bytes to the request's share, or releases them if negative. It returns an error if the memory is exhausted.
func (s *share) hold(bytes int64) error {
	s.held += bytes
	if s.all.held.Add(bytes) > s.all.limit && bytes > 0 && s.refused == nil {
		s.refused = errBusy
		if s.held > s.all.limit {
			s.refused = errMemory
		}
	}
	return s.refused
}

// pass calls work with the body of a request, once it is complete and has its turn. The context of work ends when the
// client disconnects.
func (d *door) pass(w http.ResponseWriter, req *http.Request, work func(context.Context, *share, []byte) error) error {
	own := &share{all: d.memory}
	defer func() { d.memory.held.Add(-own.held) }()
	body, err := d.arrive(w, req, own)
	if err != nil {
		return err
	}
	turn := time.NewTimer(d.patience)
	defer turn.Stop()
	select {
	case d.turns <- struct{}{}:
		defer func() { <-d.turns }()
	case <-req.Context().Done():
		return req.Context().Err()
	case <-turn.C:
		return errBusy
	}
	ctx, cancel := context.WithTimeoutCause(req.Context(), maxWork, errLong)
	defer cancel()
	return work(ctx, own, body)
}

// arrive returns the body of a request, or the part before an error.
func (d *door) arrive(w http.ResponseWriter, req *http.Request, own *share) (body []byte, err error) {
	ctl := http.NewResponseController(w)
	last := time.Now().Add(arrival)
	var chunk [16 << 10]byte
	for due := 0; ; {
		if now := time.Now(); len(body) >= due {
			deadline := now.Add(slowTime)
			if deadline.After(last) {
				deadline = last
			}
			_ = ctl.SetReadDeadline(deadline) // test recorders have no deadline
			due = len(body) + slowBytes
		}
		n, err := req.Body.Read(chunk[:])
		if err := own.hold(int64(n)); err != nil {
			return nil, err
		}
		switch body = append(body, chunk[:n]...); {
		case len(body) > MaxRequestBytes+frameHeader:
			return body, errTooLarge
		case err == io.EOF:
			_ = ctl.SetReadDeadline(time.Time{}) // the deadline would end the work
			return body, nil
		case err != nil && req.Context().Err() == nil:
			return body, errSlow
		case err != nil:
			return body, err
		}
	}
}
