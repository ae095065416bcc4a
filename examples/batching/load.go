package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
)

// clients is how many requests are under way at once.
const clients = 8

// sendRequests sends n requests to the service at address, several at once. Every
// eighth has a long prompt, which takes most of the first step that it is part of.
func sendRequests(ctx context.Context, address string, n int) error {
	errs := make([]error, clients)
	var sending sync.WaitGroup
	for client := range clients {
		sending.Go(func() {
			r := rand.New(rand.NewPCG(6, uint64(client)))
			for i := client; i < n && errs[client] == nil; i += clients {
				request := generateRequest{Prompt: "once upon a time", Tokens: 4 + r.IntN(24)}
				if i%8 == 7 {
					request.Prompt = strings.Repeat(request.Prompt+" ", 60)
				}
				if err := send(ctx, address, request); err != nil {
					errs[client] = fmt.Errorf("request %d: %w", i, err)
				}
			}
		})
	}
	sending.Wait()
	return errors.Join(errs...)
}

func send(ctx context.Context, address string, request generateRequest) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+generateRoute, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it has been read
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s: %s", response.Status, answer)
	}
	var text generateResponse
	if err := json.Unmarshal(answer, &text); err != nil {
		return err
	}
	if len(text.Text) != request.Tokens {
		return fmt.Errorf("%d tokens, want %d", len(text.Text), request.Tokens)
	}
	return nil
}
