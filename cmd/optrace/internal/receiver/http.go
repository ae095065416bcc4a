package receiver

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"

	"github.com/klauspost/compress/gzip"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Path is where traces are sent to by HTTP.
const Path = "/v1/traces"

// Handler returns the handler of OTLP over HTTP, which names the address of the page to a browser.
func (r *Receiver) Handler(page string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Path, r.export)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "spans are received here, by POST to "+Path+"; the page is at "+page, http.StatusNotFound)
	})
	return r.hosts.Handler(mux)
}

// export answers one request, in the encoding of that.
func (r *Receiver) export(w http.ResponseWriter, req *http.Request) {
	kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	var e encoding
	switch kind {
	case "application/x-protobuf":
		e = r.protobuf
	case "application/json":
		e = r.json
	default:
		http.Error(w, "the content type is application/x-protobuf or application/json", http.StatusUnsupportedMediaType)
		return
	}
	var response *collector.ExportTraceServiceResponse
	err := r.http.pass(w, req, func(ctx context.Context, body []byte) error {
		body, err := decompress(body, req.Header.Get("Content-Encoding"))
		switch {
		case err != nil:
			return err
		case kind == "application/json" && len(bytes.TrimSpace(body)) == 0:
			return errEmpty
		}
		response, err = r.take(ctx, e, body)
		return err
	})
	if err != nil {
		why := refusalOf(err)
		if why.status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		answer(w, kind, why.status, &status.Status{Code: int32(why.code), Message: why.msg})
		return
	}
	answer(w, kind, http.StatusOK, response)
}

// decompress returns what a body in an encoding stands for.
func decompress(body []byte, encoding string) ([]byte, error) {
	switch encoding {
	case "", "identity":
		if len(body) > MaxRequestBytes {
			return nil, errTooLarge
		}
		return body, nil
	case "gzip":
	default:
		return nil, errEncoding
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(z, MaxRequestBytes+1))
	if err == nil && len(text) > MaxRequestBytes {
		err = errTooLarge
	}
	return text, err
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
