package profilepush

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/optrace/optrace/internal/testing/check"
)

// receiver is a transport that answers with some statuses, one after the other, the last one
// for ever; 0 stands for an error of the network.
type receiver struct {
	tb       testing.TB
	mu       sync.Mutex
	statuses []int
	after    string
	got      []string    // of those that it took
	at       []time.Time // of all
}

func (r *receiver) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = append(r.at, time.Now())
	status := http.StatusOK
	if len(r.statuses) > 0 {
		status = r.statuses[0]
	}
	if len(r.statuses) > 1 {
		r.statuses = r.statuses[1:]
	}
	w := httptest.NewRecorder()
	switch status {
	case 0:
		return nil, errors.New("connection refused")
	case http.StatusOK:
		r.got = append(r.got, textOf(r.tb, request))
	default:
		w.Header().Set("Retry-After", r.after)
		w.WriteHeader(status)
	}
	return w.Result(), nil
}

// pushing calls f with a Pusher that sends profiles of one operation with the numbers from 1 on to a
// receiver, by a clock that is not the real one.
func pushing(t *testing.T, r *receiver, size int, f func(t *testing.T, p *Pusher)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r.tb = t
		c := check.Must(NewClient("http://receiver", &http.Client{Transport: r}))(t)
		n := 0
		f(t, started(Options{Client: c, Interval: 10 * time.Second, Take: func(bool) (Profile, error) {
			n++
			m := message(t, fmt.Sprint(n))
			return Profile{Message: append(m, make([]byte, size)...), Operations: 1, Missed: 2}, nil
		}}))
	})
}

func started(opts Options) *Pusher {
	p := New(opts)
	p.Start()
	return p
}

func gotOf(r *receiver) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.got, " ")
}

func TestPushes(t *testing.T) {
	r := &receiver{}
	pushing(t, r, 0, func(t *testing.T, p *Pusher) {
		time.Sleep(35 * time.Second)
		check.Equal(t, "sent", "1 2 3", gotOf(r))
		check.OK(t, errors.Join(p.Shutdown(t.Context()), p.Shutdown(t.Context())))
		check.Equal(t, "sent", "1 2 3 4", gotOf(r))
		check.Equal(t, "", Stats{Profiles: 4, Operations: 4, Missed: 8}, p.Stats())
	})
}

// What passes is tried again, after longer and longer pauses, and nothing is lost.
func TestTriesAgain(t *testing.T) {
	r := &receiver{statuses: []int{0, 429, 502, 503, 504, 0, 0, 0, 200}}
	pushing(t, r, 0, func(t *testing.T, p *Pusher) {
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		for i := 1; i < 9; i++ {
			pause := r.at[i].Sub(r.at[i-1])
			if want := min(30*time.Second, time.Second<<(i-1)); pause < want/2 || pause > want*3/2 {
				t.Errorf("pause %d is %v, want about %v", i, pause, want)
			}
		}
		check.OK(t, p.Shutdown(t.Context()))
		if s := p.Stats(); s.LostProfiles != 0 || s.Profiles != 19 || s.Waiting != 0 || s.LastError != "" {
			t.Errorf("%+v", s)
		}
	})
}

// The receiver says when to come again.
func TestRetryAfterIsHonoured(t *testing.T) {
	r := &receiver{statuses: []int{503, 200}, after: "100"}
	pushing(t, r, 0, func(t *testing.T, p *Pusher) {
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		check.Equal(t, "a pause", 100*time.Second, r.at[1].Sub(r.at[0]))
		check.OK(t, p.Shutdown(t.Context()))
	})
}

// What is refused is lost, and counted.
func TestRefused(t *testing.T) {
	r := &receiver{statuses: []int{400, 200, 413, 200}}
	pushing(t, r, 0, func(t *testing.T, p *Pusher) {
		time.Sleep(31 * time.Second)
		synctest.Wait()
		want := Stats{
			Profiles: 1, Operations: 1, LostProfiles: 2, LostOperations: 2, Missed: 6,
			LastError: "the receiver answers 413 Request Entity Too Large",
		}
		check.Equal(t, "", want, p.Stats())
		if err := p.Shutdown(t.Context()); err == nil || gotOf(r) != "2 4" {
			t.Errorf("error %v, sent %q", err, gotOf(r))
		}
	})
}

// While a receiver is down, the latest profiles are kept, as many as there is room for.
func TestWaitingIsBounded(t *testing.T) {
	r := &receiver{statuses: []int{0}}
	pushing(t, r, maxWaiting/4, func(t *testing.T, p *Pusher) {
		time.Sleep(95 * time.Second)
		synctest.Wait()
		if s := p.Stats(); s.LostProfiles != 6 || s.LostOperations != 6 || s.Waiting != 2 || s.LastError != "connection refused" {
			t.Errorf("%+v", s)
		}
		r.mu.Lock()
		r.statuses = nil
		r.mu.Unlock()
		// The last profile is taken while the first one is sent at last.
		err := p.Shutdown(t.Context())
		lost := p.Stats().LostProfiles
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("%d profiles of %d operations were lost", lost, lost)) {
			t.Error(err)
		}
		check.Equal(t, fmt.Sprintf("lost %d, sent", lost), map[int64]string{6: "1 8 9 10", 7: "1 9 10"}[lost], gotOf(r))
	})
}

// Shutdown ends with its context, and after ten seconds without a deadline.
func TestShutdownDeadline(t *testing.T) {
	for _, limit := range []time.Duration{0, 3 * time.Second} {
		r := &receiver{statuses: []int{503}, after: "1000"}
		pushing(t, r, 0, func(t *testing.T, p *Pusher) {
			time.Sleep(15 * time.Second)
			ctx, want := context.Background(), lastWords
			if limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
				want = limit
			}
			start := time.Now()
			err := p.Shutdown(ctx)
			if took := time.Since(start); took != want || err == nil || !strings.Contains(err.Error(), "2 profiles of 2 operations") {
				t.Errorf("after %v: %v", took, err)
			}
			check.Equal(t, "attempts, the last of which is made at once", 2, len(r.at))
		})
	}
}

// A profile that cannot be made is lost, and one without operations is none.
func TestTakeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{tb: t}
		c := check.Must(NewClient("http://receiver", &http.Client{Transport: r}))(t)
		p := started(Options{Client: c, Interval: time.Second, Take: func(last bool) (Profile, error) {
			if last {
				return Profile{Operations: 5}, errors.New("no memory")
			}
			return Profile{}, nil
		}})
		time.Sleep(3500 * time.Millisecond)
		if err := p.Shutdown(t.Context()); err == nil || err.Error() != "1 profiles of 5 operations were lost: no memory" {
			t.Error(err)
		}
		check.Equal(t, "attempts", 0, len(r.at))
	})
}

// Ready is called when something wakes the Pusher, beside Take and never at its time.
func TestReady(t *testing.T) {
	var inside, ready atomic.Int32
	wake := make(chan struct{}, 1)
	once := func() {
		check.Equal(t, "two calls at once", 1, inside.Add(1))
		inside.Add(-1)
	}
	p := started(Options{
		Client: newClient(t, "http://127.0.0.1:1"), Interval: time.Millisecond, Wake: wake,
		Ready: func() { once(); ready.Add(1) },
		Take:  func(bool) (Profile, error) { once(); return Profile{}, nil },
	})
	for ready.Load() < 10 {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	check.OK(t, p.Shutdown(t.Context()))
}

func TestPusherConcurrentSafe(t *testing.T) {
	taken := int64(0)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if textOf(t, r) == "bad" {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer s.Close()
	good, bad := message(t, "good"), message(t, "bad")
	p := started(Options{Client: newClient(t, s.URL), Interval: time.Millisecond, Take: func(bool) (Profile, error) {
		if taken++; taken%3 == 0 {
			return Profile{Message: bad, Operations: 1}, nil
		}
		return Profile{Message: good, Operations: 1}, nil
	}})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for p.Stats().Profiles < 20 {
				time.Sleep(time.Millisecond)
			}
			_ = p.Shutdown(t.Context()) // of the bad ones
		})
	}
	wg.Wait()
	if got := p.Stats(); got.Operations+got.LostOperations != taken || got.LostOperations != taken/3 || got.Waiting != 0 {
		t.Errorf("%d profiles, %+v", taken, got)
	}
}
