package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/input"
	"github.com/optrace/optrace/cmd/optrace/internal/metrics"
	"github.com/optrace/optrace/cmd/optrace/internal/receiver"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/internal/serve/livepage"
	"github.com/optrace/optrace/internal/serve/loopback"
	"github.com/optrace/optrace/internal/text/units"
)

type serveFlags struct {
	listen, http, grpc    string
	window, hosts, format string
	open                  bool
	duration              time.Duration
	memory                flags.MemorySize
}

func (f *serveFlags) define(fs *flag.FlagSet) {
	fs.StringVar(&f.listen, "listen", "127.0.0.1:8318", "")
	fs.StringVar(&f.http, "otlp-http", "127.0.0.1:4318", "")
	fs.StringVar(&f.grpc, "otlp-grpc", "127.0.0.1:4317", "")
	fs.StringVar(&f.window, "window", "", "")
	fs.StringVar(&f.hosts, "host", "", "")
	fs.BoolVar(&f.open, "open", false, "")
	flags.Format(fs, &f.format)
	fs.DurationVar(&f.duration, "for", 0, "")
	f.memory = serveMemory
	fs.Var(&f.memory, "max-memory", "")
}

func (f *serveFlags) run(ctx context.Context, s streams.Streams, line *flags.Line) error {
	limits, err := parseWindow(f.window)
	switch {
	case err != nil:
		return exit.Usagef("-window: %w", err)
	case f.duration < 0:
		return exit.Usagef("-for is negative")
	case f.memory < minServeMemory:
		return exit.Usagef("-max-memory is less than %s", units.Bytes(minServeMemory))
	case isOff(f.listen):
		return exit.Usagef("-listen has no address")
	}
	if f.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.duration)
		defer cancel()
	}
	f.memory.LimitHeap()
	limits.Bytes = int64(f.memory) / windowShare
	scraped := metrics.New()
	limits.Observe = scraped.Observe
	server := newServer(*f, livepage.NewWindow(limits))
	server.metrics = scraped
	return server.run(ctx, s, line.Inputs)
}

// The memory of the command: a report on the window takes several times the window's memory.
const (
	serveMemory    = 512 << 20
	minServeMemory = 64 << 20
	windowShare    = 8
	requestShare   = 4 // of running OTLP requests
	inputShare     = 2 // of a followed input
)

// parseWindow reads the number, the time, or both, of the window's bounds.
func parseWindow(text string) (limits livepage.Limits, err error) {
	if text == "" {
		return limits, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, notNumber := strconv.Atoi(part)
		age, notTime := time.ParseDuration(part)
		switch {
		case notNumber == nil && n > 0 && limits.Records == 0:
			limits.Records = n
		case notNumber != nil && notTime == nil && age > 0 && limits.Age == 0:
			limits.Age = age
		default:
			return limits, fmt.Errorf("%q is not a number of operations, a time, or both", text)
		}
	}
	return limits, nil
}

func isOff(address string) bool { return address == "" || address == "-" }

type server struct {
	flags  serveFlags
	hosts  loopback.Hosts
	window *livepage.Window
	// metrics serves metrics of all incoming operations.
	metrics http.Handler

	// end ends the command with an error.
	end     context.CancelCauseFunc
	running sync.WaitGroup
}

func newServer(f serveFlags, window *livepage.Window) *server {
	s := &server{flags: f, window: window}
	s.hosts = strings.Split(strings.ToLower(f.hosts), ",")
	// Clients may use the name in a listening address.
	for _, address := range []string{f.listen, f.http, f.grpc} {
		if name, _, err := net.SplitHostPort(address); err == nil {
			s.hosts = append(s.hosts, strings.ToLower(name))
		}
	}
	s.hosts = slices.DeleteFunc(s.hosts, func(name string) bool { return name == "" })
	return s
}

// run serves until ctx is done, without an error, or until the first failure.
func (s *server) run(ctx context.Context, std streams.Streams, inputs []string) error {
	ctx, s.end = context.WithCancelCause(ctx)
	err := s.start(ctx, std, inputs)
	if err != nil {
		s.end(err)
	}
	<-ctx.Done()
	s.running.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// start starts the servers and the readers of inputs, and prints their addresses.
func (s *server) start(ctx context.Context, std streams.Streams, inputs []string) error {
	page, err := loopback.Listen(ctx, s.flags.listen)
	if err != nil {
		return exit.Output(listenError("-listen", err))
	}
	address := "http://" + page.Addr().String() + "/"
	fmt.Fprintf(std.Out, "page       %s\n", address)
	var sources []string
	if len(inputs) > 0 {
		sources = append(sources, input.Title(inputs))
	}
	r := receiver.New(s.window, s.hosts, int64(s.flags.memory)/requestShare)
	for _, in := range []struct {
		flag, address, name string
		url                 string // of the listener at %s
		handler             http.Handler
	}{
		{"-otlp-http", s.flags.http, "OTLP/HTTP", "http://%s" + receiver.Path, r.Handler(address)},
		{"-otlp-grpc", s.flags.grpc, "OTLP/gRPC", "%s", r.GRPC()},
	} {
		if isOff(in.address) {
			continue
		}
		l, err := loopback.Listen(ctx, in.address)
		if err != nil {
			return exit.Input(errors.Join(listenError(in.flag, err), page.Close()))
		}
		s.serve(exit.Input, func() error { return loopback.Serve(ctx, l, in.handler) })
		sources = append(sources, in.name+" at "+l.Addr().String())
		fmt.Fprintf(std.Out, "%s  "+in.url+"\n", in.name, l.Addr())
	}
	handler := s.handler(strings.Join(sources, ", "))
	s.serve(exit.Output, func() error { return loopback.Serve(ctx, page, handler) })
	if err := s.follow(ctx, std, inputs); err != nil {
		return err
	}
	if s.flags.open {
		if err := openBrowser(ctx, address); err != nil {
			fmt.Fprintf(std.Err, "optrace serve: -open: %v\n", err)
		}
	}
	return nil
}

func listenError(flag string, err error) error {
	err = fmt.Errorf("%s: %w", flag, err)
	if _, ok := errors.AsType[*net.AddrError](err); ok {
		err = fmt.Errorf("%w; write HOST:PORT, such as 127.0.0.1:8318", err)
	}
	return err
}

func (s *server) serve(mark func(error) error, f func() error) {
	s.running.Go(func() {
		if err := f(); err != nil {
			s.end(mark(err))
		}
	})
}

func (s *server) handler(title string) http.Handler {
	page := &livepage.Page{Window: s.window, Title: title, Version: version()}
	mux := http.NewServeMux()
	for _, path := range []string{"/{$}", "/data", "/trace.json"} {
		mux.Handle(path, page)
	}
	mux.HandleFunc("GET /trace/{id}", showTrace)
	mux.HandleFunc("POST "+receiver.Path, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "this is the page; it receives no spans; its sources: "+cmp.Or(title, "none"),
			http.StatusNotFound)
	})
	mux.Handle("GET /metrics", s.metrics)
	return s.hosts.Handler(mux)
}
