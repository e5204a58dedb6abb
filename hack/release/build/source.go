package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Source is the checkout that is built.
type Source struct {
	// Dir is the checkout's folder.
	Dir string
	// Version is the version that the programs report.
	Version string
	// Revision is the commit; "unknown" without git. It ends in "-dirty" if files differ
	// from the commit.
	Revision string
	// Time is the time of the commit or the value of SOURCE_DATE_EPOCH. Everything that is
	// built gets this time.
	Time time.Time
}

// versions matches versions without characters that have a special meaning in image tags
// or linker flags.
var versions = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]*$`)

// Checkout reads the commit of a checkout. epoch is the value of SOURCE_DATE_EPOCH, which
// may be empty if there is a commit.
func Checkout(ctx context.Context, dir, version, epoch string) (Source, error) {
	s := Source{Dir: dir, Version: version, Revision: "unknown"}
	if !versions.MatchString(version) {
		return s, fmt.Errorf("version %q: allowed are letters, digits, dots, dashes and underscores, such as v1.2.3", version)
	}
	commit, err := git(ctx, dir, "log", "-1", "--format=%H %ct")
	if err != nil {
		if epoch == "" {
			return s, fmt.Errorf("reading the commit of %q; without git, set SOURCE_DATE_EPOCH: %w", dir, err)
		}
		s.Time, err = seconds("SOURCE_DATE_EPOCH", epoch)
		return s, err
	}
	revision, at, _ := strings.Cut(commit, " ")
	s.Revision = revision
	changes, err := git(ctx, dir, "status", "--porcelain")
	if err != nil {
		return s, fmt.Errorf("looking for changed files in %q: %w", dir, err)
	}
	if changes != "" {
		s.Revision += "-dirty"
	}
	if epoch != "" {
		s.Time, err = seconds("SOURCE_DATE_EPOCH", epoch)
	} else {
		s.Time, err = seconds("time of the commit", at)
	}
	return s, err
}

// Dirty reports whether files differ from the commit, or there is no commit.
func (s Source) Dirty() bool {
	return s.Revision == "unknown" || strings.HasSuffix(s.Revision, "-dirty")
}

func seconds(name, text string) (time.Time, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return time.Time{}, fmt.Errorf("%s %q: want seconds since 1970, such as 1790000000", name, text)
	}
	return time.Unix(n, 0).UTC(), nil
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	return output(exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...))
}

// output runs a command and returns its output. An error includes its standard error.
func output(command *exec.Cmd) (string, error) {
	out, err := command.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && len(failed.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(failed.Stderr))
	}
	return strings.TrimSpace(string(out)), err
}
