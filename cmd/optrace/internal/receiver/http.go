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

// Path is the path of traces in HTTP requests.
const Path = "/v1/traces"

// Handler returns the handler of OTLP over HTTP. It tells a browser the address of the page.
func (r *Receiver) Handler(page string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Path, r.export)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "spans are received here, by POST to "+Path+"; the page is at "+page, http.StatusNotFound)
	})
	return r.hosts.Handler(mux)
}

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
	err := r.http.pass(w, req, func(ctx context.Context, own *share, body []byte) error {
		body, err := decompress(body, req.Header.Get("Content-Encoding"), own)
		switch {
		case err != nil:
			return err
		case kind == "application/json" && len(bytes.TrimSpace(body)) == 0:
			return errEmpty
		}
		response, err = r.take(ctx, e, own, body)
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

// decompress returns the decoded body. It reserves the memory first.
func decompress(body []byte, encoding string, own *share) ([]byte, error) {
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
	var text []byte
	for err == nil {
		if len(text) == cap(text) {
			if len(text) > MaxRequestBytes {
				return nil, errTooLarge
			}
			room := min(max(4*len(body), 2*len(text)), MaxRequestBytes+1)
			if err := own.hold(int64(room)); err != nil {
				return nil, err
			}
			_ = own.hold(int64(-cap(text))) // less than before
			text = append(make([]byte, 0, room), text...)
		}
		var n int
		n, err = z.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
	}
	switch {
	case err != io.EOF:
		return nil, err
	case len(text) > MaxRequestBytes:
		return nil, errTooLarge
	}
	return text, nil
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
	_, _ = w.Write(text) // a disconnected client is not an error
}
