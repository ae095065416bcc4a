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
	var answer generateResponse
	if err := demo.Post(ctx, address+generateRoute, request, &answer); err != nil {
		return err
	}
	if len(answer.Text) != request.Tokens {
		return fmt.Errorf("%d tokens, want %d", len(answer.Text), request.Tokens)
	}
	return nil
}
