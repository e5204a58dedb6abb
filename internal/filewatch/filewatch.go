// Package filewatch tells when a file has another content. It decides when a
// change is over; what the content means is left to who is told.
//
// The file is read every few seconds rather than watched: a mounted ConfigMap
// is changed by swapping a symbolic link two folders up, an editor replaces or
// overwrites, and network file systems tell nobody. A content is reported only
// after it was read twice in a row, so that half of a write is not taken for
// all of it.
package filewatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// DefaultInterval is the time between two readings.
const DefaultInterval = 2 * time.Second

// Config says what is watched.
type Config struct {
	Path string
	// Interval is DefaultInterval where it is zero.
	Interval time.Duration
	// MaxBytes bounds what is read; a longer file is an error.
	MaxBytes int64
	// Known is the content that is not reported: the one that was read before
	// the watch began.
	Known []byte
	// Changed is told each content, or why there is none, and reports whether
	// it is done with it; if not it is told again after the next reading. No
	// reading is made meanwhile.
	Changed func(ctx context.Context, content []byte, err error) (done bool)
}

// state is what a reading found.
type state struct {
	content string
	failure string
}

// Run reads until the context ends.
func Run(ctx context.Context, config Config) error {
	if config.Path == "" || config.Changed == nil || config.Interval < 0 || config.MaxBytes <= 0 {
		return errors.New("filewatch: Path, Changed and MaxBytes must be set, Interval must not be negative")
	}
	if config.Interval == 0 {
		config.Interval = DefaultInterval
	}
	ticker := time.NewTicker(config.Interval)
	defer ticker.Stop()
	told := state{content: string(config.Known)}
	last := told
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
		if found == last && found != told && config.Changed(ctx, content, err) {
			told = found
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
