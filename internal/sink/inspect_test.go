package sink

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/internal/encoding/entries"
	"github.com/optrace/optrace/internal/encoding/otlp"
	"github.com/optrace/optrace/internal/rotate"
)

func TestInspect(t *testing.T) {
	compressed := func(c Compression, text string) string {
		z, err := newCompressor(c)
		check.OK(t, err)
		return string(z.compress(nil, []byte(text)))
	}
	const line, message = `{"step":1}` + "\n", "\x00\x00\x00\x04\x0a\x02\x12\x00"
	for _, tt := range []struct {
		name        string
		format      encoding.Format
		compression Compression
		from        int
		content     string
		end         rotate.Ending
		whole       int
		err         string
	}{
		{"empty", entries.Format, None, 0, "", rotate.EndsWhole, 0, ""},
		{"lines", entries.Format, None, 0, line, rotate.EndsWhole, len(line), ""},
		{"a line cut off", entries.Format, None, 0, line + "{", rotate.EndsInLine, 0, ""},
		{"a line cut off behind others", entries.Format, None, len(line), line + line + "{", rotate.EndsInLine, len(line), ""},
		{"lines behind damage", entries.Format, None, 0, "\x00\x00\n" + line, rotate.EndsDamaged, 0, ""},
		{"messages", otlp.Proto, None, 0, message + message, rotate.EndsWhole, 2 * len(message), ""},
		{"messages behind others", otlp.Proto, None, len(message), message + message, rotate.EndsWhole, 2 * len(message), ""},
		{"a message cut off", otlp.Proto, None, 0, message + message[:5], rotate.EndsDamaged, len(message), ""},
		{"a length cut off", otlp.Proto, None, 0, message + message[:2], rotate.EndsDamaged, len(message), ""},
		{"gzip", entries.Format, Gzip, 0, compressed(Gzip, line), rotate.EndsWhole, len(compressed(Gzip, line)), ""},
		{"zstd", entries.Format, Zstd, 0, compressed(Zstd, line), rotate.EndsWhole, len(compressed(Zstd, line)), ""},
		{"gzip cut off", entries.Format, Gzip, 0, compressed(Gzip, line)[:20], rotate.EndsDamaged, 0, ""},
		{"zstd behind others", entries.Format, Zstd, 5, "12345" + compressed(Zstd, line), rotate.EndsWhole, 5 + len(compressed(Zstd, line)), ""},
		{"zstd cut off behind others", entries.Format, Zstd, 5, "12345" + compressed(Zstd, line)[:9], rotate.EndsDamaged, 5, ""},
		{"another format", otlp.JSON, None, 0, line, 0, 0, "it is not in the format otlp-json"},
		{"another format, compressed", otlp.JSON, Gzip, 0, compressed(Gzip, line), 0, 0, "it is not in the format otlp-json"},
		{"compressed", entries.Format, None, 0, compressed(Zstd, line), 0, 0, "it is compressed with zstd"},
		{"not compressed", entries.Format, Gzip, 0, line, 0, 0, "it is not compressed with gzip"},
		{"a document", entries.Format, None, 0, "{\"a\": 1}\n{", 0, 0, "it is not in the format entries"},
		{"a table", entries.Format, None, 0, "step,operation\n1,add\n", 0, 0, "it is not in the format entries"},
		{"a program", otlp.JSON, None, 0, "\x7fELF\x02\x01\x01", 0, 0, "it is not in the format otlp-json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			end, whole, err := Inspect(tt.format, tt.compression)(
				bytes.NewReader([]byte(tt.content)), int64(tt.from), int64(len(tt.content)))
			if tt.err != "" {
				if !errors.Is(err, errForeign) || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || end != tt.end || whole != int64(tt.whole) {
				t.Errorf("ending %v, whole up to %d, %v, want %v, %d", end, whole, err, tt.end, tt.whole)
			}
		})
	}
}

func TestAwait(t *testing.T) {
	errWork := errors.New("work")
	for _, tt := range []struct {
		name           string
		timeout, takes time.Duration
		want           error
	}{
		{"in time", time.Second, time.Millisecond, errWork},
		{"in the grace", time.Second, 1050 * time.Millisecond, errWork},
		{"done before", 0, 50 * time.Millisecond, errWork},
		{"too late", time.Second, time.Minute, context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()
				err := Await(ctx, 100*time.Millisecond, func() error { time.Sleep(tt.takes); return errWork })
				check.Is(t, "", tt.want, err)
				time.Sleep(tt.takes)
			})
		})
	}
}
