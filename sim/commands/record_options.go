package commands

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/evenkeel/evenkeel/cluster/slim"
	"github.com/evenkeel/evenkeel/sim/recording"
)

// RecordOptions are the flags of `evenkeel record`.
type RecordOptions struct {
	Out           string
	Force         bool
	For, Interval time.Duration
	HashNames     bool
	Salt          string
	// Progress receives progress messages.
	Progress io.Writer
}

// AddTo defines the flags.
func (o *RecordOptions) AddTo(flags *pflag.FlagSet) {
	flags.StringVar(&o.Out, "out", "", "File to write, such as day.evenkeel.gz.")
	flags.BoolVar(&o.Force, "force", false, "Overwrite the file if there is one.")
	flags.DurationVar(&o.For, "for", 0, "How long to record; 0 records until stopped.")
	flags.DurationVar(&o.Interval, "interval", recording.Mean, "Sampling interval; must divide 5m evenly.")
	flags.BoolVar(&o.HashNames, "hash-names", false, "Hide all names, and the keys and values of labels.")
	flags.StringVar(&o.Salt, "salt", "", "Secret key for --hash-names. Reuse it to get the same pseudonyms in several recordings (default: random).")
}

// leastInterval is the shortest time between two readings.
const leastInterval = 5 * time.Second

func (o *RecordOptions) validate() error {
	switch {
	case o.Out == "":
		return errors.New("--out: a file to write is required")
	case o.Interval < leastInterval || o.Interval > recording.Mean || recording.Mean%o.Interval != 0 || o.Interval%time.Second != 0:
		return fmt.Errorf("--interval %v: must be %v, or whole seconds from %v on that divide it evenly", o.Interval, recording.Mean, leastInterval)
	case o.For < 0 || o.For > 0 && o.For < o.Interval:
		return fmt.Errorf("--for %v: must be 0, which records until stopped, or at least the interval of %v", o.For, o.Interval)
	case o.Salt != "" && !o.HashNames:
		return errors.New("--salt requires --hash-names")
	}
	if _, err := os.Stat(o.Out); err == nil && !o.Force {
		return fmt.Errorf("--out: %s is there already; --force overwrites it", o.Out)
	}
	return folderExists("--out", o.Out)
}

// folderExists returns an error if the folder of a file does not exist, so that the user
// learns of it before any work is lost.
func folderExists(flag, file string) error {
	if _, err := os.Stat(filepath.Dir(file)); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// recordedSlim reduces objects to what a recording needs.
func recordedSlim() *slim.Slimmer { return slim.New().WithoutTransitions() }
