package main

import (
	"context"
	"fmt"
	"io"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/output"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/internal/profilepush"
)

// pushConverted posts what write writes to an address, and says what became of it.
func pushConverted(ctx context.Context, s streams.Streams, address string, write func(*output.File) error) error {
	client, err := newPushClient(address)
	if err != nil {
		return err
	}
	return output.Beside(ctx, s, func() error {
		var failed, verdict error
		message, err := profilepush.Compress(func(w io.Writer) error {
			out := output.To(w)
			if failed = write(out); failed != nil {
				return failed
			}
			verdict = out.Verdict
			return out.Flush()
		})
		if failed != nil {
			return failed
		}
		if err != nil {
			return exit.Output(err)
		}
		answer, err := client.Post(ctx, message)
		switch {
		case err != nil:
			return exit.Output(fmt.Errorf("pushing to %s: %w", client.URL(), err))
		case answer.Rejected > 0:
			return exit.Output(fmt.Errorf("pushing to %s: %d profiles were rejected: %q", client.URL(), answer.Rejected, answer.Text))
		case answer.Text != "":
			fmt.Fprintf(s.Err, "optrace convert: %s says %q\n", client.URL(), answer.Text)
		}
		fmt.Fprintf(s.Err, "optrace convert: pushed to %s\n", client.URL())
		return verdict
	})
}

// newPushClient returns a client of the address that the flag -push has.
func newPushClient(address string) (*profilepush.Client, error) {
	client, err := profilepush.NewClient(address, nil)
	if err != nil {
		return nil, exit.Usagef("-push: %w", err)
	}
	return client, nil
}
