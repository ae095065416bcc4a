package main

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/optrace/optrace/internal/profilepush"
)

// targetOTLPProfiles is the format that is pushed.
const targetOTLPProfiles = "otlp-profiles"

// pushConverted posts what write writes to an address, and says what became of it.
func pushConverted(ctx context.Context, s streams, address string, write func(*output) error) error {
	client, err := newPushClient(address)
	if err != nil {
		return err
	}
	return beside(ctx, s, func() error {
		var failed, verdict error
		message, err := profilepush.Compress(func(w io.Writer) error {
			out := &output{Writer: bufio.NewWriterSize(w, outputBuffer)}
			if failed = write(out); failed != nil {
				return failed
			}
			verdict = out.verdict
			return out.Flush()
		})
		if failed != nil {
			return failed
		}
		if err != nil {
			return outputError(err)
		}
		answer, err := client.Post(ctx, message)
		switch {
		case err != nil:
			return outputError(fmt.Errorf("pushing to %s: %w", client.URL(), err))
		case answer.Rejected > 0:
			return outputError(fmt.Errorf("pushing to %s: %d profiles were rejected: %q", client.URL(), answer.Rejected, answer.Text))
		case answer.Text != "":
			fmt.Fprintf(s.err, "optrace convert: %s says %q\n", client.URL(), answer.Text)
		}
		fmt.Fprintf(s.err, "optrace convert: pushed to %s\n", client.URL())
		return verdict
	})
}

// newPushClient returns a client of the address that the flag -push has.
func newPushClient(address string) (*profilepush.Client, error) {
	client, err := profilepush.NewClient(address, nil)
	if err != nil {
		return nil, usagef("-push: %w", err)
	}
	return client, nil
}
