package process

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// Two differences are logged once: where logs go, and which levels are not distinguished.
func TestMemoryFlagsLogDifferences(t *testing.T) {
	var m Extender
	m.format, m.level = "logger:syslog?appname=bob&local=7", "error"
	flags := pflag.NewFlagSet("extender", pflag.ContinueOnError)
	flags.String("v", "", "")
	if err := errors.Join(m.settleLevel(flags), m.settleFormat(flags)); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"--log.level=error: lines of level info are logged as well",
		"--log.format=logger:syslog?appname=bob&local=7: logs go to standard error",
	}
	if diff := cmp.Diff(want, m.notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
