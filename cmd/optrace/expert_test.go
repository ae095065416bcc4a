package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// unsaid lists the traces whose first screen does not yet say what an expert would.
var unsaid = []string{"mi300/timesformer.json.gz"}

// The first screen of real traces fits 30 lines and says what an expert would, by patterns of what must and must not
// stand there.
func TestFirstScreenSaysWhatAnExpertWould(t *testing.T) {
	for _, list := range []string{"testdata/expert.json", recorded + "/expert/expert.json"} {
		text, err := os.ReadFile(list)
		if err != nil && strings.HasPrefix(list, recorded) {
			t.Skipf("needs the recorded traces in %s", recorded)
		}
		check.OK(t, err)
		var cases []struct {
			File, At string
			Must     []string
			MustNot  []string `json:"must_not"`
		}
		check.OK(t, json.Unmarshal(text, &cases))
		for _, c := range cases {
			t.Run(c.File, func(t *testing.T) {
				screen := succeeds(t, "report", "-width", "80", filepath.Join("../..", c.At))
				says := func(pattern string) bool { return regexp.MustCompile(pattern).MatchString(screen) }
				wrong := slices.DeleteFunc(c.Must, says)
				wrong = append(wrong, slices.DeleteFunc(c.MustNot, func(p string) bool { return !says(p) })...)
				if strings.Count(screen, "\n") > 30 {
					wrong = append(wrong, "(length)")
				}
				if isUnsaid := slices.Contains(unsaid, c.File); isUnsaid != (len(wrong) > 0) {
					t.Errorf("listed in unsaid: %t; wrong by %q:\n%s", isUnsaid, wrong, screen)
				}
			})
		}
	}
}

// Text, Markdown and JSON have the same headline.
func TestHeadlinesAgree(t *testing.T) {
	const path = "../../ingest/kineto/testdata/h100/gemm.json.gz"
	var r struct{ Headline struct{ Text []string } }
	check.OK(t, json.Unmarshal([]byte(succeeds(t, "report", "-json", path)), &r))
	want := []string{
		"NVIDIA H100 80GB HBM3: busy 97.8 % of 46.0 ms.", "A step takes 15.5 ms from start to start (median of 3 steps).",
		"734 TFLOP/s, 74.2 % of the bf16 peak, in 30 of 60 operations; MFU 72.3 %.",
	}
	check.Equal(t, "JSON", want, r.Headline.Text)
	if got := succeeds(t, "report", path); !strings.HasPrefix(got, strings.Join(want, "\n")+"\n\n") {
		t.Errorf("text:\n%s", got)
	}
	plain := strings.NewReplacer(`\`, "").Replace(succeeds(t, "report", "-markdown", path))
	if !strings.HasPrefix(plain, "**"+strings.Join(want, " ")+"**\n") {
		t.Errorf("Markdown:\n%s", plain)
	}
}
