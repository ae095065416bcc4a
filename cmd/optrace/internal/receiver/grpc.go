package receiver

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // what SDKs compress with
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/internal/loopback"
)

// service and method are the names of what SDKs call.
const (
	service = "opentelemetry.proto.collector.trace.v1.TraceService"
	method  = "Export"
)

// grace is how long calls may go on when the server ends.
const grace = 2 * time.Second

// ServeGRPC answers calls of OTLP over gRPC until ctx is done.
func (r *Receiver) ServeGRPC(ctx context.Context, l net.Listener) error {
	s := grpc.NewServer(
		grpc.ForceServerCodecV2(codec{}),
		grpc.InTapHandle(r.admit),
		grpc.MaxRecvMsgSize(MaxRequestBytes),
		grpc.MaxConcurrentStreams(MaxRequests),
		grpc.MaxHeaderListSize(loopback.MaxHeaderBytes),
		grpc.ConnectionTimeout(loopback.ReadTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 10 * time.Minute, Time: time.Minute, Timeout: loopback.ReadTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: service, HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: method, Handler: r.call}},
	}, r)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		timer := time.AfterFunc(grace, s.Stop)
		defer timer.Stop()
		s.GracefulStop()
	})
	err := s.Serve(l)
	if !stop() {
		<-ended
		return nil
	}
	s.Stop()
	return err
}

// admit is called for each call before its message is read. A call has a turn, and an end.
func (r *Receiver) admit(ctx context.Context, _ *tap.Info) (context.Context, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	for _, authority := range md.Get(":authority") {
		if !r.hosts.Allow(authority) {
			return nil, status.Error(codes.PermissionDenied, "this server is not known by the name in the request")
		}
	}
	select {
	case r.slots <- struct{}{}:
	default:
		return nil, status.Error(codes.Unavailable, "too many requests at a time")
	}
	var once sync.Once
	release := func() { once.Do(func() { <-r.slots }) }
	limited, cancel := context.WithTimeout(ctx, loopback.ReadTimeout)
	context.AfterFunc(ctx, func() { // the context ends with the call
		cancel()
		release()
	})
	return limited, nil
}

// call answers one call.
func (r *Receiver) call(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	var body message
	if err := decode(&body); err != nil {
		return nil, err
	}
	response, err := r.take(protobuf(), body)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return response, nil
}

// message is a request as it came: package ingest/otlp reads it.
type message []byte

// codec passes requests on as bytes.
type codec struct{}

// Name implements [encoding.CodecV2].
func (codec) Name() string { return "proto" }

// Marshal implements [encoding.CodecV2].
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("receiver: a response of type %T", v)
	}
	text, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{mem.SliceBuffer(text)}, nil
}

// Unmarshal implements [encoding.CodecV2].
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("receiver: a request of type %T", v)
	}
	*m = data.Materialize()
	return nil
}
