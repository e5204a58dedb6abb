package policyfile

import (
	"context"
	"fmt"
	"io"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/policy"
)

// PrintNotes prints to out how legacy documents were converted, and what a user should
// know about a valid policy. If out is nil, it logs both.
func PrintNotes(ctx context.Context, file *policy.File, out io.Writer) {
	logger := klog.FromContext(ctx)
	for _, note := range file.Warnings() {
		if out == nil {
			logger.Info("Warning about a setting of the policy", "file", NameOf(file), "place", note.Place, "field", note.Field, "detail", note.Text)
			continue
		}
		place := note.Place
		if place != "" {
			place += ": "
		}
		_, _ = fmt.Fprintf(out, "%s: %swarning: %s: %s.\n", NameOf(file), place, note.Field, note.Text)
	}
	for _, document := range file.Converted {
		for _, note := range document.Notes {
			message, kind, at := "Converted a setting of a legacy policy", "note", note.Field
			if note.Lossy {
				message, kind = "Warning: dropped a setting of a legacy policy", "warning"
			}
			if out == nil {
				logger.Info(message, "file", NameOf(file), "format", document.Format, "field", note.Field, "change", note.Text)
				continue
			}
			if at != "" {
				at += ": "
			}
			_, _ = fmt.Fprintf(out, "%s: %s: %s: %s%s.\n", NameOf(file), document.Format, kind, at, note.Text)
		}
	}
}
