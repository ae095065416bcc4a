package receiver

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzip"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Path is where traces are sent to by HTTP.
const Path = "/v1/traces"

// patience is how long a request waits for its turn before it is told to come again.
const patience = 2 * time.Second

// Handler returns the handler of OTLP over HTTP.
func (r *Receiver) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Path, r.export)
	return r.hosts.Handler(mux)
}

// export answers one request, in the encoding of that.
func (r *Receiver) export(w http.ResponseWriter, req *http.Request) {
	kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	var e encoding
	switch kind {
	case "application/x-protobuf":
		e = protobuf()
	case "application/json":
		e = jsonText()
	default:
		http.Error(w, "the content type is application/x-protobuf or application/json", http.StatusUnsupportedMediaType)
		return
	}
	turn := time.NewTimer(patience)
	defer turn.Stop()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-req.Context().Done():
		return
	case <-turn.C:
		w.Header().Set("Retry-After", "1")
		fail(w, kind, http.StatusServiceUnavailable, codes.Unavailable, "too many requests at a time")
		return
	}
	body, err := read(w, req)
	if err != nil {
		fail(w, kind, refusal(err), codes.InvalidArgument, err.Error())
		return
	}
	if kind == "application/json" && len(bytes.TrimSpace(body)) == 0 {
		fail(w, kind, http.StatusBadRequest, codes.InvalidArgument, "the request is empty")
		return
	}
	response, err := r.take(e, body)
	if err != nil {
		fail(w, kind, http.StatusBadRequest, codes.InvalidArgument, err.Error())
		return
	}
	answer(w, kind, http.StatusOK, response)
}

// The reasons to refuse a body.
var (
	errTooLarge = errors.New("the request is too large")
	errEncoding = errors.New("the content encoding is gzip or none")
)

// refusal returns the status for the error of a body.
func refusal(err error) int {
	large := &http.MaxBytesError{}
	switch {
	case errors.Is(err, errTooLarge), errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errEncoding):
		return http.StatusUnsupportedMediaType
	}
	return http.StatusBadRequest
}

// read returns the body of a request, decompressed.
func read(w http.ResponseWriter, req *http.Request) ([]byte, error) {
	var src io.Reader = http.MaxBytesReader(w, req.Body, MaxRequestBytes)
	switch req.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(src)
		if err != nil {
			return nil, err
		}
		src = z
	default:
		return nil, errEncoding
	}
	body, err := io.ReadAll(io.LimitReader(src, MaxRequestBytes+1))
	if err == nil && len(body) > MaxRequestBytes {
		err = errTooLarge
	}
	return body, err
}

// fail answers with an error, as OTLP wants it.
func fail(w http.ResponseWriter, kind string, code int, reason codes.Code, message string) {
	answer(w, kind, code, &status.Status{Code: int32(reason), Message: message})
}

func answer(w http.ResponseWriter, kind string, code int, m proto.Message) {
	marshal := proto.Marshal
	if kind == "application/json" {
		marshal = protojson.Marshal
	}
	text, err := marshal(m)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(text) // a client that went away is no error of ours
}
