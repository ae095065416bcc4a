// Package ingest reads operations from the files of optrace and of other tools.
//
// It finds the format of a file by its content, never by its name. It opens compressed files transparently, and walks
// directories and zip archives; "-" is standard input. Several files form one input:
//
//	in := ingest.Open("ops.jsonl", "collector/", "-")
//	for e, err := range in.Entries() {
//		…
//	}
//
// Each format has its own package below this one; it turns bytes into records and knows nothing of files. Only the
// table in formats.go lists the formats.
//
// Reading takes constant memory for most formats. Some state at the end of a file the data needed at its start:
// [Options].MaxMemory bounds the memory for these, together with the memory that the caller reports to [Input.Hold]. A
// bad record is yielded as an [*op.SyntaxError] with its position, and reading goes on. Any other error ends the input,
// for example a compressed file that expands to more than 64 MiB and more than 2000 times its size.
package ingest
