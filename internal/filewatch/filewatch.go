// Package filewatch reports when the content of a file changes. It determines when a
// change is complete; the caller interprets the content.
//
// The file is polled every few seconds rather than watched: a mounted ConfigMap changes
// by swapping a symbolic link two folders up, editors replace or overwrite files, and
// network file systems send no notifications. Content is reported only after it was read
// twice in a row, so that a partial write is not taken for a complete one.
package filewatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// DefaultInterval is the time between two readings.
const DefaultInterval = 2 * time.Second

// Config configures Run.
type Config struct {
	Path string
	// Interval is the time between two readings; 0 means DefaultInterval.
	Interval time.Duration
	// MaxBytes is the maximum size of the content; a longer file is an error.
	MaxBytes int64
	// Known is the content that was read before watching began; it is not
	// reported.
	Known []byte
	// Changed receives new content, or the reason why there is none, and reports whether it
	// is done with it. If not, Changed is called again after the next reading. The file is
	// not read while Changed runs.
	Changed func(ctx context.Context, content []byte, err error) (done bool)
}

// state is the result of a reading.
type state struct {
	content string
	failure string
}

// Run reads the file until the context ends.
func Run(ctx context.Context, config Config) error {
	if config.Path == "" || config.Changed == nil || config.Interval < 0 || config.MaxBytes <= 0 {
		return errors.New("filewatch: Path, Changed and MaxBytes must be set, Interval must not be negative")
	}
	ticker := time.NewTicker(cmp.Or(config.Interval, DefaultInterval))
	defer ticker.Stop()
	reported := state{content: string(config.Known)}
	last := reported
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		content, err := read(config.Path, config.MaxBytes)
		found := state{content: string(content)}
		if err != nil {
			found.failure = err.Error()
		}
		if found == last && found != reported && config.Changed(ctx, content, err) {
			reported = found
		}
		last = found
	}
}

func read(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the file again: %w", err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, fmt.Errorf("reading the file again: %w", err)
	}
	if int64(len(content)) > most {
		return nil, fmt.Errorf("reading the file again: %q is longer than %d bytes", path, most)
	}
	return content, nil
}
