// Package lane lets command e2e pass cases to a package's test binary, one after the
// other. Each case is a line on standard input, and all cases run on the control plane
// that the binary starts once. Without the environment variable that the command sets, a
// test binary runs its cases as under `go test`.
package lane

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

const (
	// variable is an environment variable that makes a test binary read its cases from
	// standard input. Its value is the folder of the binaries.
	variable = "EVENKEEL_E2E_LANE"
	// done starts the line that ends a case's output; the exit code follows.
	done = "EVENKEEL-E2E-CASE-ENDED "
)

// Case is what a test binary runs: a pattern for -test.run.
type Case struct{ Run string }

// BinDir returns the folder with the finished build; empty if command e2e does not run
// this binary.
func BinDir() string { return os.Getenv(variable) }

// Serve runs each incoming case and writes to out how it ended, until there are no more
// cases or the context ends.
func Serve(ctx context.Context, m interface{ Run() int }, in io.Reader, out io.Writer) error {
	cases := json.NewDecoder(bufio.NewReader(in))
	for ctx.Err() == nil {
		var next Case
		if err := cases.Decode(&next); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("reading the next case: %w", err)
		}
		if err := flag.Set("test.run", next.Run); err != nil {
			return fmt.Errorf("choosing the case: %w", err)
		}
		fmt.Fprintf(out, "\n%s%d\n", done, m.Run())
	}
	return ctx.Err()
}
