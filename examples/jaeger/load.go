package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
)

// sendRequests sends n requests to the service at address, one after the
// other. Each asks for items of one shard, most of them for those of the first.
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
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+rankRoute, bytes.NewReader(body))
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
	var scores rankResponse
	if err := json.Unmarshal(answer, &scores); err != nil {
		return err
	}
	if len(scores.Scores) != len(request.Items) {
		return fmt.Errorf("%d scores for %d items", len(scores.Scores), len(request.Items))
	}
	return nil
}
