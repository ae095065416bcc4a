package receiver

import (
	"context"
	"encoding/binary"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

const method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

const frameHeader = 5 // the size of a message's prefix: a compression flag and the length

var (
	errHost = &refusal{http.StatusMisdirectedRequest, codes.PermissionDenied,
		"the host name in the request is not one of this server"}
	errMethod = &refusal{http.StatusNotFound, codes.Unimplemented, "the method is " + method}
	errFrame  = &refusal{http.StatusBadRequest, codes.InvalidArgument, "the request is not one message"}
)

// GRPC returns the handler of OTLP over gRPC, for an HTTP/2 server.
func (r *Receiver) GRPC() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case req.ProtoMajor < 2 || req.Method != http.MethodPost:
			http.Error(w, "gRPC is POST over HTTP/2", http.StatusHTTPVersionNotSupported)
			return
		case !strings.HasPrefix(req.Header.Get("Content-Type"), "application/grpc"):
			http.Error(w, "the content type is application/grpc", http.StatusUnsupportedMediaType)
			return
		}
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Accept-Encoding", "gzip")
		code := codes.OK
		msg := ""
		if err := r.call(w, req); err != nil {
			why := refusalOf(err)
			code = why.code
			msg = why.msg
		}
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(int(code)))
		w.Header().Set(http.TrailerPrefix+"Grpc-Message", url.PathEscape(msg))
	})
}

func (r *Receiver) call(w http.ResponseWriter, req *http.Request) error {
	switch {
	case !r.hosts.Allow(req.Host):
		return errHost
	case req.URL.Path != method:
		return errMethod
	}
	return r.grpc.pass(w, req, func(ctx context.Context, own *share, body []byte) error {
		if len(body) < frameHeader || uint64(len(body)-frameHeader) != uint64(binary.BigEndian.Uint32(body[1:])) {
			return errFrame
		}
		coding := ""
		if body[0] == 1 {
			coding = req.Header.Get("Grpc-Encoding")
		}
		text, err := decompress(body[frameHeader:], coding, own)
		if err != nil {
			return err
		}
		response, err := r.take(ctx, r.protobuf, own, text)
		if err != nil {
			return err
		}
		frame, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, frameHeader), response)
		if err != nil {
			return err
		}
		binary.BigEndian.PutUint32(frame[1:], uint32(len(frame)-frameHeader))
		_, _ = w.Write(frame) // a disconnected client is not an error
		return nil
	})
}
