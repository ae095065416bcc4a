package analyze

import (
	"bytes"
	"fmt"
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
		check.Equal(t, fmt.Sprintf("line %d: %s", block.line, block.language), block.text, write(t, input))
	}
	check.Equal(t, "blocks", len(blockWriters)+2, blocks)
}

// blockWriters make the text of a block from a table of operations.
var blockWriters = map[string]func(*testing.T, markdownTable) string{
	"requests":       documentedRequests,
	"shared":         documentedShared,
	"collapsed":      documentedCollapsed,
	"collapsed-flat": documentedFlat,
}

func documentedTrace(t *testing.T, table markdownTable) (*trace.Forest, *seed.Stacks) {
	t.Helper()
	forest, flat := trace.New(), new(seed.Stacks)
	for i, cells := range table.rows {
		row := documentedRow{t: t, line: table.line + 2 + i, cells: make(map[string]string)}
		for c, name := range table.header {
			row.cells[name] = cells[c]
		}
		record := row.record()
		if record.Span != nil {
			forest.AddSpan(record.Span)
			continue
		}
		forest.Add(record)
		flat.Add(record.Entry)
	}
	return forest, flat
}

func documentedRequests(t *testing.T, table markdownTable) string {
	t.Helper()
	forest, _ := documentedTrace(t, table)
	all := requests.Find(forest)
	var b strings.Builder
	for i := range all.List {
		r := &all.List[i]
		fmt.Fprintf(&b, "%s: start %v, duration %v, ops %d, uncovered %v, queueing %v\n",
			r.Name, r.StartNS, r.DurationNS, r.Ops(), r.UncoveredNS, r.QueueingNS)
	}
	fmt.Fprintf(&b, "unattached: %d\n", len(slices.Collect(all.Unattached())))
	return b.String()
}

func documentedShared(t *testing.T, table markdownTable) string {
	t.Helper()
	forest, _ := documentedTrace(t, table)
	all := requests.Find(forest)
	var b strings.Builder
	for i := range all.List {
		r := &all.List[i]
		fmt.Fprintf(&b, "%s: own %d, shared %d in %d ops, uncovered %v, queueing %v\n",
			r.Name, r.OwnNS, r.SharedNS, r.SharedOps, r.UncoveredNS, r.QueueingNS)
		for _, s := range path.Of(forest, r.Root).Segments {
			fmt.Fprintf(&b, "  %s [%d,%d)\n", s.Node.Name(), s.StartNS, s.StartNS+s.DurationNS)
		}
	}
	for i := range all.Shared {
		e := &all.Shared[i]
		fmt.Fprintf(&b, "%s: %d links, %d requests, %d ops, sum %d", e.Name, e.Links, e.Requests, e.Ops(), e.SumNS)
		if e.DroppedLinks > 0 {
			fmt.Fprintf(&b, ", unlinked %d", e.UnlinkedNS)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func documentedCollapsed(t *testing.T, table markdownTable) string {
	t.Helper()
	forest, _ := documentedTrace(t, table)
	var b bytes.Buffer
	check.OK(t, stacks.WriteForest(forest, &b))
	return b.String()
}

func documentedFlat(t *testing.T, table markdownTable) string {
	t.Helper()
	_, flat := documentedTrace(t, table)
	var b bytes.Buffer
	check.OK(t, flat.Write(&b))
	return b.String()
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
