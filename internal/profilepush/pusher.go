package profilepush

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// MinInterval is the shortest time between two profiles.
const MinInterval = time.Second

// The pauses between attempts grow from firstPause to maxPause, each by chance up to a half
// shorter or longer.
const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
)

// maxWaiting bounds the profiles that wait for a receiver, in bytes.
const maxWaiting = 32 << 20

// lastWords is how long Shutdown tries where its context has no deadline.
const lastWords = 10 * time.Second

// Profile is the profile of an interval.
type Profile struct {
	Message Message
	// Operations is how many operations are in it, Missed how many more there were in the
	// interval.
	Operations, Missed int64
}

// Stats counts what became of profiles.
type Stats struct {
	// Profiles and Operations were taken by the receiver, those of messages of which it took
	// a part among them.
	Profiles, Operations int64
	// Rejected are messages' parts, one for each kind of value, that the receiver says it did not take.
	Rejected int64
	// LostProfiles and LostOperations never got through: the receiver refused them, or there
	// was no more room to keep them while it was down, or no time left in Shutdown.
	LostProfiles, LostOperations int64
	// Missed operations were in no profile: more came at once than there is room for.
	Missed int64
	// Forgotten spans were not ended for long, and are not above the operations in profiles.
	Forgotten int64
	// Waiting is how many profiles wait to be sent.
	Waiting int64
	// LastError is what went wrong last, "" since the last profile that got through.
	LastError string
}

// Options configures a Pusher.
type Options struct {
	Client *Client
	// Interval is the time between two profiles.
	Interval time.Duration
	// Take returns the profile of what has been since its last call; one without operations
	// is not sent. Last is set for the call in Shutdown.
	Take func(last bool) (Profile, error)
	// Ready is called when something comes from Wake. Both may be nil. Take and Ready are
	// called by one goroutine.
	Wake  <-chan struct{}
	Ready func()
}

// Pusher takes profiles and posts them in the background. It is safe for concurrent use.
type Pusher struct {
	opts Options

	taking, sending         context.Context // of the goroutines
	stopTaking, stopSending context.CancelFunc
	both                    sync.WaitGroup
	hurried                 bool // the sending goroutine has seen the end of taking

	changed chan struct{} // closed when nothing more comes
	mu      sync.Mutex
	waiting []Profile
	bytes   int
	stats   Stats
}

// New returns a Pusher, which takes nothing before it is started.
func New(opts Options) *Pusher {
	p := &Pusher{opts: opts, changed: make(chan struct{}, 1)}
	p.taking, p.stopTaking = context.WithCancel(context.Background())
	p.sending, p.stopSending = context.WithCancel(context.Background())
	return p
}

// Start starts p, which Shutdown ends.
func (p *Pusher) Start() {
	p.both.Go(p.takeAll)
	p.both.Go(p.sendAll)
}

func (p *Pusher) takeAll() {
	tick := time.NewTicker(p.opts.Interval)
	defer tick.Stop()
	for {
		select {
		case <-p.opts.Wake:
			p.opts.Ready()
		case <-tick.C:
			p.take(false)
		case <-p.taking.Done():
			p.take(true)
			close(p.changed)
			return
		}
	}
}

// take takes a profile and puts it behind those that wait. Where there is no room for all,
// the oldest are lost.
func (p *Pusher) take(last bool) {
	profile, err := p.opts.Take(last)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Missed += profile.Missed
	switch {
	case err != nil:
		p.stats.LostProfiles++
		p.stats.LostOperations += profile.Operations
		p.stats.LastError = err.Error()
		return
	case profile.Operations == 0:
		return
	}
	p.waiting = append(p.waiting, profile)
	p.bytes += len(profile.Message)
	for len(p.waiting) > 1 && p.bytes > maxWaiting {
		p.lose(p.first())
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// first takes the profile that waits for longest out of those that wait. The lock is held.
func (p *Pusher) first() Profile {
	profile := p.waiting[0]
	p.waiting[0] = Profile{}
	p.waiting = p.waiting[1:]
	return profile
}

// lose counts a profile that does not wait any more, and will not get through. The lock is
// held.
func (p *Pusher) lose(profile Profile) {
	p.bytes -= len(profile.Message)
	p.stats.LostProfiles++
	p.stats.LostOperations += profile.Operations
}

func (p *Pusher) sendAll() {
	for range p.changed {
		for {
			p.mu.Lock()
			if len(p.waiting) == 0 {
				p.mu.Unlock()
				break
			}
			profile := p.first()
			p.mu.Unlock()
			p.send(profile)
		}
	}
}

// send posts a profile until it has got through, is refused or there is no more time.
func (p *Pusher) send(profile Profile) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		answer, err := p.opts.Client.Post(p.sending, profile.Message)
		over := err != nil && (!passes(err) || p.sending.Err() != nil)
		p.mu.Lock()
		switch {
		case err == nil:
			p.bytes -= len(profile.Message)
			p.stats.Profiles++
			p.stats.Operations += profile.Operations
			p.stats.Rejected += answer.Rejected
			p.stats.LastError = answer.Text
		case over:
			p.lose(profile)
			fallthrough
		default:
			p.stats.LastError = err.Error()
		}
		p.mu.Unlock()
		if err == nil || over {
			return
		}
		p.pause(err, pause)
	}
}

// pause waits before the next attempt: as long as the receiver says, or else about as long
// as given. When the Pusher is told to end, the next attempt is made at once.
func (p *Pusher) pause(err error, pause time.Duration) {
	pause = pause/2 + rand.N(pause)
	if refused, ok := errors.AsType[*RefusedError](err); ok && refused.After > 0 {
		pause = refused.After
	}
	wait := time.NewTimer(pause)
	defer wait.Stop()
	var stop <-chan struct{}
	if !p.hurried {
		stop = p.taking.Done()
	}
	select {
	case <-wait.C:
	case <-p.sending.Done():
	case <-stop:
		p.hurried = true
	}
}

// Stats returns what became of the profiles so far.
func (p *Pusher) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	stats.Waiting = int64(len(p.waiting))
	return stats
}

// Shutdown takes the last profile and waits until all have been sent, or until ctx is done;
// ten seconds where it has no deadline. What has not got through by then is lost. It returns
// an error where profiles are. Later calls return what the first one did.
func (p *Pusher) Shutdown(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lastWords)
		defer cancel()
	}
	p.stopTaking()
	defer context.AfterFunc(ctx, p.stopSending)()
	p.both.Wait()
	p.stopSending()
	p.opts.Client.close()
	if stats := p.Stats(); stats.LostProfiles > 0 {
		return fmt.Errorf("%d profiles of %d operations were lost: %s", stats.LostProfiles, stats.LostOperations, stats.LastError)
	}
	return nil
}
