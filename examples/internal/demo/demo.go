// Package demo is shared by the example programs: a main function, output files, a server and its client.
package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// Main parses the flags and runs a program. An interrupt cancels the context. An error ends the process.
func Main(name string, run func(ctx context.Context, out io.Writer) error) {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// NewFile creates the folder of a file and removes the file of an earlier run, because file exporters append.
func NewFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Serve serves HTTP at addr until client returns or ctx is done. client gets the address.
func Serve(
	ctx context.Context, addr string, handler http.Handler, client func(ctx context.Context, address string) error,
) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	done := make(chan error, 2)
	go func() { done <- server.Serve(listener) }()
	go func() { done <- client(ctx, "http://"+listener.Addr().String()) }()
	err = <-done
	http.DefaultClient.CloseIdleConnections()
	// A connection without a request counts as idle after five seconds.
	shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(shutdown))
}

// Post posts a request as JSON and decodes the answer.
func Post(ctx context.Context, url string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // after reading it
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s: %s", response.Status, text)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}
