package analyze

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// TestDocumentedStructure reads docs/analyses.md: a block of requests or of
// collapsed stacks is what comes of the table of operations in front of it.
func TestDocumentedStructure(t *testing.T) {
	text := check.Must(os.ReadFile("../docs/analyses.md"))(t)
	tables := markdownTables(string(text))
	blocks := 0
	for _, block := range fencedBlocks(string(text)) {
		write, ok := blockWriters[block.language]
		if !ok {
			continue
		}
		blocks++
		var input markdownTable
		for _, table := range tables {
			if table.line < block.line && table.header[0] == "operation" {
				input = table
			}
		}
		var b strings.Builder
		write(t, input.records(t), &b)
		check.Equal(t, fmt.Sprintf("line %d: %s", block.line, block.language), block.text, b.String())
	}
	check.Equal(t, "blocks", len(blockWriters)+2, blocks)
}

// blockWriters write the text of a block about the records of a table.
var blockWriters = map[string]func(*testing.T, []op.Record, io.Writer){
	"requests": documentedRequests,
	"shared":   documentedShared,
	"collapsed": func(t *testing.T, records []op.Record, w io.Writer) {
		check.OK(t, stacks.WriteForest(forestOf(records), w))
	},
	"collapsed-flat": func(t *testing.T, records []op.Record, w io.Writer) {
		var flat seed.Stacks
		for _, rec := range records {
			if rec.Entry != nil {
				flat.Add(rec.Entry)
			}
		}
		check.OK(t, flat.Write(w))
	},
}

func forestOf(records []op.Record) *trace.Forest {
	forest := trace.New()
	for _, rec := range records {
		forest.Add(rec)
	}
	return forest
}

func documentedRequests(_ *testing.T, records []op.Record, w io.Writer) {
	all := requests.Find(forestOf(records))
	for i := range all.List {
		r := &all.List[i]
		fmt.Fprintf(w, "%s: start %v, duration %v, ops %d, uncovered %v, queueing %v\n",
			r.Name, r.StartNS, r.DurationNS, r.Ops(), r.UncoveredNS, r.QueueingNS)
	}
	fmt.Fprintf(w, "unattached: %d\n", len(slices.Collect(all.Unattached())))
}

func documentedShared(_ *testing.T, records []op.Record, w io.Writer) {
	forest := forestOf(records)
	all := requests.Find(forest)
	for i := range all.List {
		r := &all.List[i]
		fmt.Fprintf(w, "%s: own %d, shared %d in %d ops, uncovered %v, queueing %v\n",
			r.Name, r.OwnNS, r.SharedNS, r.SharedOps, r.UncoveredNS, r.QueueingNS)
		for _, s := range path.Of(forest, r.Root).Segments {
			fmt.Fprintf(w, "  %s [%d,%d)\n", s.Node.Name(), s.StartNS, s.StartNS+s.DurationNS)
		}
	}
	for i := range all.Shared {
		e := &all.Shared[i]
		fmt.Fprintf(w, "%s: %d links, %d requests, %d ops, sum %d", e.Name, e.Links, e.Requests, e.Ops(), e.SumNS)
		if e.DroppedLinks > 0 {
			fmt.Fprintf(w, ", unlinked %d", e.UnlinkedNS)
		}
		fmt.Fprintln(w)
	}
}

// fencedBlock is a block of code and the line that it begins on.
type fencedBlock struct {
	line     int
	language string
	text     string
}

func fencedBlocks(markdown string) []fencedBlock {
	var blocks []fencedBlock
	inside := false
	for i, line := range strings.Split(markdown, "\n") {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !inside:
			blocks = append(blocks, fencedBlock{line: i + 1, language: language})
			inside = true
		case fence:
			inside = false
		case inside:
			blocks[len(blocks)-1].text += line + "\n"
		}
	}
	return blocks
}
