package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/optrace/optrace/bench/workload"
)

// collectorConfig takes spans by OTLP over HTTP, writes a compressed file and makes metrics of
// operations.
const collectorConfig = `
receivers:
  otlp: {protocols: {http: {endpoint: "%s"}}}
processors:
  batch: {send_batch_size: 8192}
exporters:
  optrace: {path: "%s", compression: zstd}
  debug:
connectors:
  operations: {flush_interval: 15s}
service:
  telemetry: {metrics: {level: none}, logs: {level: warn}}
  pipelines:
    traces: {receivers: [otlp], processors: [batch], exporters: [optrace, operations]}
    metrics: {receivers: [operations], exporters: [debug]}
`

// freeAddress returns an address of this machine on which nobody listened just now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// await waits until somebody listens at the address.
func await(ctx context.Context, address string) error {
	const patience = 60 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var d net.Dialer
	for {
		c, err := d.DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nobody listens at %s: %w", address, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// runCollector sends spans to a Collector from several senders, until it has ended.
func (b *bench) runCollector(ctx context.Context, spans int64, senders int) (c cost, err error) {
	program, err := b.program(ctx, "contrib/otelcol", "./cmd/otelcol-optrace")
	if err != nil {
		return c, err
	}
	file, err := workload.Get(ctx, b.env, workload.OTLPProto, workload.Config{Kind: workload.G512, Ops: int(spans)})
	if err != nil {
		return c, err
	}
	address, err := freeAddress()
	if err != nil {
		return c, err
	}
	out, config := b.path("ops.jsonl.zst"), b.path("config.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, collectorConfig, address, out), 0o600); err != nil {
		return c, err
	}
	cmd := exec.CommandContext(ctx, program, "--config", config)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	if err := cmd.Start(); err != nil {
		return c, err
	}
	err = await(ctx, address)
	if err == nil {
		c.in, err = send(ctx, "http://"+address+"/v1/traces", file.Path, senders)
	}
	err = errors.Join(err, cmd.Process.Signal(syscall.SIGTERM), cmd.Wait())
	if err != nil {
		return c, fmt.Errorf("%w: %.2000s", err, problems.Bytes())
	}
	c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if c.out, err = sizes([]string{out}); err != nil {
		return c, err
	}
	return c, errors.Join(b.check(ctx, file.Ops, out), os.Remove(out))
}

// send sends the messages of a file, from several senders in turn, and returns how many bytes
// they have.
func send(ctx context.Context, url, path string, senders int) (n int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	messages, failed := make(chan []byte), make(chan error, senders)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			client := &http.Client{Transport: new(http.Transport)}
			defer client.CloseIdleConnections()
			for m := range messages {
				if err := post(ctx, client, url, m); err != nil {
					failed <- err
					cancel()
					return
				}
			}
		})
	}
	n, err = readMessages(ctx, f, messages)
	close(messages)
	wg.Wait()
	close(failed)
	for e := range failed {
		err = errors.Join(err, e)
	}
	return n, err
}

// readMessages hands out the messages of a file, each behind its length.
func readMessages(ctx context.Context, r io.Reader, messages chan<- []byte) (n int64, err error) {
	for {
		var length [4]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return n, nil
			}
			return n, err
		}
		m := make([]byte, binary.BigEndian.Uint32(length[:])) // a file of our own
		if _, err := io.ReadFull(r, m); err != nil {
			return n, err
		}
		n += int64(len(m))
		select {
		case messages <- m:
		case <-ctx.Done():
			return n, context.Cause(ctx)
		}
	}
}

func post(ctx context.Context, client *http.Client, url string, message []byte) (err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(message))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	if err = errors.Join(err, res.Body.Close()); err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("the Collector answers %s", res.Status)
	}
	return err
}
