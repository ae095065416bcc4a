package main

import (
	"context"
	"fmt"
	"time"

	"github.com/optrace/optrace/internal/profilepush"
	"github.com/optrace/optrace/internal/serve/livepage"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/render/html"
)

// defaultPushInterval is the time between two profiles, and lastPush how long the command
// tries to push the last ones when it ends.
const (
	defaultPushInterval = 10 * time.Second
	lastPush            = 3 * time.Second
)

type servePush struct {
	client *profilepush.Client
	pusher *profilepush.Pusher
	delta  *livepage.Delta
}

func newServePush(f *serveFlags, window *livepage.Window) (*servePush, error) {
	client, err := newPushClient(f.push)
	if err != nil {
		return nil, err
	}
	p := &servePush{client: client, delta: window.Delta(livepage.ProfileLimits)}
	p.pusher = profilepush.New(profilepush.Options{Client: client, Interval: f.pushInterval, Take: p.take})
	return p, nil
}

func (p *servePush) take(last bool) (profilepush.Profile, error) {
	i, err := p.delta.Next(last)
	if err != nil {
		return profilepush.Profile{Operations: i.Came}, err
	}
	return i.Profile(version())
}

// end pushes the rest, for a short time.
func (p *servePush) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastPush)
	defer cancel()
	if err := p.pusher.Shutdown(ctx); err != nil {
		return fmt.Errorf("pushing to %s: %w", p.client.URL(), err)
	}
	return nil
}

// notes tells about the profiles in the head of the page.
func (p *servePush) notes() []html.Note {
	s := p.pusher.Stats()
	note := html.Note{
		Label: units.Count(s.Profiles) + " profiles pushed",
		Detail: fmt.Sprintf("To %s: %s profiles of %s operations got there, %s wait.", p.client.URL(),
			units.Count(s.Profiles), units.Count(s.Operations), units.Count(s.Waiting)),
	}
	if s.LostProfiles+s.Rejected+s.Missed > 0 {
		note.Label = units.Count(s.LostOperations+s.Missed) + " operations not pushed"
		note.Detail += fmt.Sprintf(" %s profiles of %s operations are lost, %s were rejected, and %s operations fell out of the window before.",
			units.Count(s.LostProfiles), units.Count(s.LostOperations), units.Count(s.Rejected), units.Count(s.Missed))
	}
	if s.LastError != "" {
		note.Detail += " The last error: " + s.LastError
	}
	return []html.Note{note}
}
