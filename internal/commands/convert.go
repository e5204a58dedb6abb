package commands

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/rewritten"
)

// Formats are the legacy formats that files may use.
type Formats struct {
	// Converters convert individual documents.
	Converters []policy.Converter
	// ConvertFile converts the policies in a file, wherever they are in it. Any error is a
	// *policy.Error.
	ConvertFile func(name string, data []byte, kinds source.Kinds) (*rewritten.File, error)
}

func (f *Formats) convert(name string, data []byte) (_ *rewritten.File, err error) {
	defer policyfile.Recover(name, &err)
	return f.ConvertFile(name, data, kinds.All)
}

// ConvertOptions are the flags of `evenkeel convert`.
type ConvertOptions struct {
	// Files are the files to read, To is the file to write. Each may be Standard.
	Files []string
	To    string
	// Formats are the legacy formats to convert.
	Formats Formats
}

// Convert runs `evenkeel convert`: it converts files of any legacy system to the current
// format, one after the other, and reports each document to progress. If lint would
// report an error in any file, it writes nothing, because its output is meant to be run.
func Convert(options ConvertOptions, in io.Reader, out, progress io.Writer) error {
	inputs, err := readInputs("convert", options.Files, in)
	if err != nil {
		return err
	}
	policyfile.SetupPlugins()
	var text bytes.Buffer
	var errs []error
	for _, file := range inputs {
		if file.err != nil {
			errs = append(errs, file.err)
			continue
		}
		result, err := options.Formats.convert(file.name, file.data)
		if err == nil {
			err = mistakes(&options.Formats, result.Policies)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		tellParts(progress, file.name, result.Parts)
		appendDocuments(&text, result.Text)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if options.To != Standard {
		if err := os.WriteFile(options.To, text.Bytes(), 0o644); err != nil {
			return exit.Usagef("writing the converted file: %w", err)
		}
		return nil
	}
	if _, err := out.Write(text.Bytes()); err != nil {
		return fmt.Errorf("writing the converted file: %w", err)
	}
	return nil
}

// mistakes returns the errors that lint finds in the policies of a file.
func mistakes(formats *Formats, policies []rewritten.Policy) error {
	var errs []error
	for _, p := range policies {
		report := lintPolicy(formats, p, time.Now())
		if problems := report.errors(); len(problems) > 0 {
			errs = append(errs, policy.NewError(p.Name, problems))
		}
	}
	return errors.Join(errs...)
}

// appendDocuments adds the documents of another file.
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

// tellParts reports how each document of a file was converted.
func tellParts(progress io.Writer, name string, parts []rewritten.Part) {
	for i := range parts {
		part := &parts[i]
		line(progress, "%s: %s: %s: %s", name, part.Place, part.Found, actionWords[part.Action])
		for _, note := range part.Notes {
			label := "note"
			if note.Lossy && part.Action != rewritten.Enclosed {
				label = "not as before"
			}
			line(progress, "  %s: %s", label, withField(note.Field, note.Text))
		}
	}
}

var actionWords = map[rewritten.Action]string{
	rewritten.Converted: "converted",
	rewritten.Current:   "already in the current format, unchanged",
	rewritten.Marked:    "unchanged, with comments on what to change by hand",
	rewritten.Enclosed:  "unchanged",
	rewritten.Kept:      "not a policy, unchanged",
}

func withField(field, text string) string {
	if field == "" {
		return text
	}
	return field + ": " + text
}
