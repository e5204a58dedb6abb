package commands

import (
	"fmt"
	"io"
	"os"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/migration"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage/kinds"
)

// Standard is the file name that means standard input or output.
const Standard = "-"

// ConvertOptions are the flags of `evenkeel convert`.
type ConvertOptions struct {
	// From and To are the files to read and to write, or Standard.
	From, To string
}

// Convert is `evenkeel convert`: it converts a file of any legacy system to the
// current format, and reports each document to progress.
func Convert(options ConvertOptions, in io.Reader, out, progress io.Writer) error {
	name, data, err := readInput(options.From, in)
	if err != nil {
		return err
	}
	result, err := migration.ConvertFile(name, data, kinds.All)
	if err != nil {
		return err
	}
	for i := range result.Parts {
		part := &result.Parts[i]
		line(progress, "%s: %s: %s: %s", name, part.Place, part.Found, actionWords[part.Action])
		for _, note := range part.Notes {
			label := "note"
			if note.Lossy {
				label = "not as before"
			}
			line(progress, "  %s: %s", label, withField(note.Field, note.Text))
		}
	}
	if options.To != Standard {
		if err := os.WriteFile(options.To, result.Text, 0o644); err != nil {
			return exit.Usagef("writing the converted file: %w", err)
		}
		return nil
	}
	if _, err := out.Write(result.Text); err != nil {
		return fmt.Errorf("writing the converted file: %w", err)
	}
	return nil
}

var actionWords = map[migration.Action]string{
	migration.Converted: "converted",
	migration.Current:   "in the current format already, unchanged",
	migration.Marked:    "unchanged, with comments on what to change by hand",
	migration.Kept:      "no policy, unchanged",
}

func withField(field, text string) string {
	if field == "" {
		return text
	}
	return field + ": " + text
}

// readInput reads a command's input, up to the size that a policy may have.
func readInput(path string, in io.Reader) (name string, data []byte, err error) {
	name = path
	if path == Standard {
		name = "stdin"
	} else {
		file, err := os.Open(path)
		if err != nil {
			return path, nil, exit.Usagef("reading the file: %w", err)
		}
		defer file.Close()
		in = file
	}
	data, err = io.ReadAll(io.LimitReader(in, policy.MaxFileBytes+1))
	if err != nil {
		return name, nil, exit.Usagef("reading %s: %w", name, err)
	}
	if len(data) > policy.MaxFileBytes {
		return name, nil, policyfile.Invalid(name, fmt.Sprintf("it has more than %d bytes, which is the most a policy may have", policy.MaxFileBytes))
	}
	return name, data, nil
}
