// Package ingest reads operations from files that this and other tools wrote.
//
// What a file holds is found by its content, never by its name. Compressed files are opened transparently, directories
// are walked, "-" is standard input, and several files form one input:
//
//	in := ingest.Open("ops.jsonl", "collector/", "-")
//	for e, err := range in.Entries() {
//		…
//	}
//
// Every format has a package of its own below this one, which turns bytes into records and knows nothing of files. The
// table in formats.go is the only place that lists them.
//
// Reading takes constant memory, but for formats that have what is needed first at their end; [Options].MaxMemory
// bounds that, together with what whoever reads the input keeps of it. A record that cannot be read is yielded as an
// [*op.SyntaxError] with its position, and reading goes on; any other error ends the input, such as that of a
// compressed file that expands by more than 2000, above 64 MiB.
package ingest
