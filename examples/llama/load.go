package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/optrace/optrace/examples/internal/demo"
)

// clients is how many requests are under way at once: more than the engine works for.
const clients = 6

// sendRequests sends n requests to the service at address, several at once. Prompts and answers
// differ in length, and every twelfth prompt is as long as all of its neighbours together.
func sendRequests(ctx context.Context, address string, n int) error {
	errs := make([]error, clients)
	var sending sync.WaitGroup
	for client := range clients {
		sending.Go(func() {
			r := rand.New(rand.NewPCG(6, uint64(client)))
			for i := client; i < n && errs[client] == nil; i += clients {
				words := 1 + r.IntN(6)
				if i%12 == 11 {
					words = 45
				}
				request := completionsRequest{Prompt: strings.Repeat("once upon a time ", words), MaxTokens: 4 + r.IntN(24)}
				if err := send(ctx, address, request); err != nil {
					errs[client] = fmt.Errorf("request %d: %w", i, err)
				}
			}
		})
	}
	sending.Wait()
	return errors.Join(errs...)
}

func send(ctx context.Context, address string, request completionsRequest) error {
	var answer completionsResponse
	if err := demo.Post(ctx, address+completionsRoute, request, &answer); err != nil {
		return err
	}
	if len(answer.Text) != request.MaxTokens {
		return fmt.Errorf("%d tokens, want %d", len(answer.Text), request.MaxTokens)
	}
	return nil
}
