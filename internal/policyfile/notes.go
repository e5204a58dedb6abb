package policyfile

import (
	"context"
	"fmt"
	"io"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/policy"
)

// PrintNotes prints to out how legacy documents were converted and what a policy
// leaves out, or logs it if out is nil.
func PrintNotes(ctx context.Context, file *policy.File, out io.Writer) {
	logger := klog.FromContext(ctx)
	switch unjudged := file.Unjudged(); {
	case unjudged == nil:
	case out == nil:
		logger.Info("Warning: the policy leaves out a resource", "file", NameOf(file), "field", unjudged.Field, "detail", unjudged.Text)
	default:
		_, _ = fmt.Fprintf(out, "%s: warning: %s: %s.\n", NameOf(file), unjudged.Field, unjudged.Text)
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
