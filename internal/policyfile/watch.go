package policyfile

import (
	"context"

	"github.com/evenkeel/evenkeel/internal/filewatch"
	"github.com/evenkeel/evenkeel/policy"
)

// Reports receives the results of changes to the policy file.
type Reports interface {
	// Taken is called when a file has taken effect. another reports whether its policy
	// differs from the previous one.
	Taken(ctx context.Context, hash string, another bool)
	Refused(ctx context.Context, err error)
}

// Replace puts new content of the policy file into effect, unless it is the
// current content.
type Replace func(ctx context.Context, content []byte) (another bool, err error)

// Watch applies changes of the policy file until the context ends. known is the
// content in effect; nil for a policy without a file.
func Watch(ctx context.Context, path string, known []byte, reports Reports, replace Replace) error {
	if known == nil {
		<-ctx.Done()
		return nil
	}
	return filewatch.Run(ctx, filewatch.Config{
		Path: path, MaxBytes: policy.MaxFileBytes, Known: known,
		Changed: func(ctx context.Context, content []byte, err error) (done bool) {
			return Apply(ctx, content, err, reports, replace)
		},
	})
}

// Apply applies new content, or keeps the current content and reports why. done is false
// for valid content that could not be applied, for example because the API server is
// unavailable.
func Apply(ctx context.Context, content []byte, err error, reports Reports, replace Replace) (done bool) {
	another := false
	if err == nil {
		another, err = replace(ctx, content)
	}
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		reports.Refused(ctx, err)
		return content == nil || policy.IsInvalid(err)
	}
	reports.Taken(ctx, Hash(content), another)
	return true
}
