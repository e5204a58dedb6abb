package policyfile

import (
	"context"
	"fmt"
	"io"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/policy"
)

// TellNotes prints what became of documents of earlier systems for a person who
// waits for it. Without one it logs it.
func TellNotes(ctx context.Context, file *policy.File, out io.Writer) {
	logger := klog.FromContext(ctx)
	for _, document := range file.Converted {
		for _, note := range document.Notes {
			message, kind, at := "Policy of an earlier system: changed", "note", note.Field
			if note.Lossy {
				message, kind = "Warning: policy of an earlier system: not done any more", "warning"
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
