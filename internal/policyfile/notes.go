package policyfile

import (
	"context"
	"fmt"
	"io"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/policy"
)

// TellNotes prints what became of documents of earlier systems for a person who
// waits for it, or logs it.
func TellNotes(ctx context.Context, file *policy.File, out io.Writer) {
	if out == nil {
		LogNotes(ctx, file)
	} else {
		printNotes(out, file)
	}
}

// LogNotes logs what became of documents of earlier systems.
func LogNotes(ctx context.Context, file *policy.File) {
	logger := klog.FromContext(ctx)
	for _, document := range file.Converted {
		for _, note := range document.Notes {
			message := "Policy of an earlier system: changed"
			if note.Lossy {
				message = "Warning: policy of an earlier system: not done any more"
			}
			logger.Info(message, "file", NameOf(file), "format", document.Format, "field", note.Field, "change", note.Text)
		}
	}
}

func printNotes(out io.Writer, file *policy.File) {
	for _, document := range file.Converted {
		for _, note := range document.Notes {
			kind, at := "note", note.Field
			if note.Lossy {
				kind = "warning"
			}
			if at != "" {
				at += ": "
			}
			_, _ = fmt.Fprintf(out, "%s: %s: %s: %s%s.\n", NameOf(file), document.Format, kind, at, note.Text)
		}
	}
}
