package cluster

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// tailBytes is enough to hold the compiler's errors at the end of a build.
const tailBytes = 8 << 10

// buildMeter counts the packages that `go build -v` prints, and keeps the end of the
// output for error messages.
type buildMeter struct {
	out     io.Writer
	what    string
	total   int
	started time.Time

	mu      sync.Mutex
	lines   int
	written []byte
}

func newBuildMeter(out io.Writer, what string, total int) *buildMeter {
	if out == nil {
		out = io.Discard
	}
	return &buildMeter{out: out, what: what, total: total, started: time.Now()}
}

// Write implements io.Writer for the output of the go command.
func (m *buildMeter) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines += bytes.Count(p, []byte{'\n'})
	m.written = append(m.written, p...)
	if excess := len(m.written) - tailBytes; excess > 0 {
		m.written = m.written[excess:]
	}
	return len(p), nil
}

func (m *buildMeter) tail() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Clone(m.written)
}

// report prints a line every progressEvery until stop is called. stop waits for the last
// line.
func (m *buildMeter) report() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
				fmt.Fprintln(m.out, m.line())
			}
		}
	}()
	return func() { close(quit); <-done }
}

func (m *buildMeter) line() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	elapsed := time.Since(m.started).Round(time.Second)
	if m.lines >= m.total {
		return fmt.Sprintf("building %s: linking, %s", m.what, elapsed)
	}
	return fmt.Sprintf("building %s: %2d%%, %d of %d packages, %s", m.what, 100*m.lines/m.total, m.lines, m.total, elapsed)
}
