package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/optrace/optrace/examples/internal/demo"
)

// sendRequests sends n requests to the service at address, one by one. Each asks for items of one shard, mostly the
// first.
func sendRequests(ctx context.Context, address string, n int) error {
	r := rand.New(rand.NewPCG(6, 7))
	for i := range n {
		first := 0
		if i%8 == 7 {
			first = r.IntN(shards) * shardItems
		}
		request := rankRequest{User: r.IntN(1000), Items: make([]int, 50+r.IntN(50))}
		for j := range request.Items {
			request.Items[j] = first + r.IntN(shardItems)
		}
		if err := send(ctx, address, request); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
	}
	return nil
}

func send(ctx context.Context, address string, request rankRequest) error {
	var answer rankResponse
	if err := demo.Post(ctx, address+rankRoute, request, &answer); err != nil {
		return err
	}
	if len(answer.Scores) != len(request.Items) {
		return fmt.Errorf("%d scores for %d items", len(answer.Scores), len(request.Items))
	}
	return nil
}
