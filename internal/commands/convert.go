package commands

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage/kinds"
)

// ConvertOptions are the flags of `evenkeel convert`.
type ConvertOptions struct {
	// Files are those to read, To is the one to write; each may be Standard.
	Files []string
	To    string
}

// Convert is `evenkeel convert`: it converts files of any legacy system to the
// current format, one after the other, and reports each document to progress.
// It writes nothing if lint would report an error in any of them, in whatever
// format: what it writes is meant to be run.
func Convert(options ConvertOptions, in io.Reader, out, progress io.Writer) error {
	inputs, err := readInputs("convert", options.Files, in)
	if err != nil {
		return err
	}
	policyfile.SetupPlugins()
	var converted bytes.Buffer
	var errs []error
	for _, file := range inputs {
		if file.err != nil {
			errs = append(errs, file.err)
			continue
		}
		result, err := convertFile(file.name, file.data)
		if err == nil {
			err = mistakes(result.Policies)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		tellParts(progress, file.name, result.Parts)
		appendDocuments(&converted, result.Text)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if options.To != Standard {
		if err := os.WriteFile(options.To, converted.Bytes(), 0o644); err != nil {
			return exit.Usagef("writing the converted file: %w", err)
		}
		return nil
	}
	if _, err := out.Write(converted.Bytes()); err != nil {
		return fmt.Errorf("writing the converted file: %w", err)
	}
	return nil
}

func convertFile(name string, data []byte) (_ *compat.Result, err error) {
	defer policyfile.Recover(name, &err)
	return compat.ConvertFile(name, data, kinds.All)
}

// mistakes returns what lint calls errors in the policies of a file.
func mistakes(policies []compat.Policy) error {
	var errs []error
	for _, p := range policies {
		report := lintPolicy(p, time.Now())
		if problems := report.errors(); len(problems) > 0 {
			errs = append(errs, policy.NewError(p.Name, problems))
		}
	}
	return errors.Join(errs...)
}

// appendDocuments adds the documents of one more file.
func appendDocuments(to *bytes.Buffer, text []byte) {
	if to.Len() > 0 {
		if to.Bytes()[to.Len()-1] != '\n' {
			to.WriteByte('\n')
		}
		if !bytes.HasPrefix(text, []byte("---")) {
			to.WriteString("---\n")
		}
	}
	to.Write(text)
}

// tellParts reports what became of the documents of a file.
func tellParts(progress io.Writer, name string, parts []compat.Part) {
	for i := range parts {
		part := &parts[i]
		line(progress, "%s: %s: %s: %s", name, part.Place, part.Found, actionWords[part.Action])
		for _, note := range part.Notes {
			label := "note"
			if note.Lossy && part.Action != compat.Enclosed {
				label = "not as before"
			}
			line(progress, "  %s: %s", label, withField(note.Field, note.Text))
		}
	}
}

var actionWords = map[compat.Action]string{
	compat.Converted: "converted",
	compat.Current:   "in the current format already, unchanged",
	compat.Marked:    "unchanged, with comments on what to change by hand",
	compat.Enclosed:  "unchanged",
	compat.Kept:      "no policy, unchanged",
}

func withField(field, text string) string {
	if field == "" {
		return text
	}
	return field + ": " + text
}
