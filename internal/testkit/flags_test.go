package testkit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// A flag is listed with both of its names, and with its default unless that is empty. Characters
// that would end a cell of the table are escaped.
func TestFlagTable(t *testing.T) {
	cases := map[string]struct {
		add  func(*pflag.FlagSet)
		want string
	}{
		"a name, a short one and a default": {
			func(f *pflag.FlagSet) { f.StringP("output", "o", "table", "Format: table|json.") },
			"| `-o, --output string` | `table` | Format: table\\|json. |",
		},
		"a switch that is off": {func(f *pflag.FlagSet) { f.Bool("force", false, "Overwrite.") }, "| `--force` |  | Overwrite. |"},
		"a switch that is on":  {func(f *pflag.FlagSet) { f.Bool("elect", true, "Elect.") }, "| `--elect` | `true` | Elect. |"},
		"a value with a name":  {func(f *pflag.FlagSet) { f.String("out", "", "Write to `FILE`.") }, "| `--out FILE` |  | Write to FILE. |"},
		"several lines":        {func(f *pflag.FlagSet) { f.Int("n", 0, "One\n  <two>.") }, "| `--n int` | `0` | One &lt;two&gt;. |"},
		"a deprecated one": {func(f *pflag.FlagSet) {
			f.String("old", "", "Old.")
			_ = f.MarkDeprecated("old", "use --new")
		}, "| `--old string` |  | Old. Deprecated: use --new |"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			tc.add(flags)
			if diff := cmp.Diff("| flag | default | |\n|---|---|---|\n"+tc.want+"\n", FlagTable(flags)); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}
