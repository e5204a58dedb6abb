package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/evenkeel/evenkeel/internal/cli"
	"github.com/evenkeel/evenkeel/internal/exit"
)

// A misspelt name leads to a suggestion.
func TestMisspeltNames(t *testing.T) {
	cases := map[string]struct{ args, want string }{
		"a command":                         {"serev", `unknown command "serev", did you mean "serve"?; see evenkeel --help`},
		"a prefix of a command":             {"sim", `unknown command "sim", did you mean "simulate"?; see evenkeel --help`},
		"a command similar to none":         {"frobnicate", `unknown command "frobnicate"; see evenkeel --help`},
		"a command to help with":            {"help plna", `unknown command "plna", did you mean "plan"?; see evenkeel --help`},
		"a shell":                           {"completion bsh", `unknown command "bsh", did you mean "bash"?; see evenkeel completion --help`},
		"a flag":                            {"run --dryrun", `unknown flag: --dryrun, did you mean "--dry-run"?`},
		"a flag with a value":               {"plan --policy-file=x.yaml", `unknown flag: --policy-file`},
		"a flag of logging":                 {"run --log-format json", `unknown flag: --log-format, did you mean "--logging-format"?`},
		"a flag similar to none":            {"run --zzz", `unknown flag: --zzz`},
		"a flag with one dash":              {"top -kubeconfig=x", `unknown shorthand flag: 'k' in -kubeconfig=x, did you mean "--kubeconfig"?`},
		"a short flag":                      {"run -x", `unknown shorthand flag: 'x' in -x`},
		"a flag without its value":          {"run --schedule", `flag needs an argument: --schedule`},
		"an output format":                  {"top -o jsn", `--output: "jsn" is not one of table|wide|json|yaml|name, did you mean "json"?`},
		"the mode of doctor":                {"doctor --mode extendr", `--mode: "extendr" is not one of ["run" "serve" "extender" "nodesync"], did you mean "extender"?`},
		"an argument where none is allowed": {"run now", `evenkeel run takes no arguments, got ["now"]`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := execute(t, "evenkeel", tc.args); err == nil || err.Error() != tc.want || exit.Code(err) != exit.Misuse {
				t.Errorf("exit code %d for %v, want %q", exit.Code(err), err, tc.want)
			}
		})
	}
}

// execute runs a command line under the given name of the binary, and returns its output.
func execute(t *testing.T, binary, args string) (string, error) {
	t.Helper()
	if err := logsapi.ResetForTest(nil); err != nil {
		t.Fatal(err)
	}
	root := program().Root(binary)
	var out bytes.Buffer
	root.SetOut(&out)
	cli.RefuseMisspelt(root)
	root.SetArgs(strings.Fields(args))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// The version is printed in both ways that users know from other programs.
func TestVersion(t *testing.T) {
	flag, err := execute(t, "evenkeel", "--version")
	if err != nil || !strings.HasSuffix(strings.TrimSpace(flag), " "+version) {
		t.Errorf("--version prints %q, error %v, want version %s", flag, err, version)
	}
	for _, binary := range []string{"evenkeel", "kubectl-evenkeel"} {
		want, _ := execute(t, binary, "--version")
		if command, err := execute(t, binary, "version"); err != nil || command != want {
			t.Errorf("%s version prints %q, error %v, want %q as --version does", binary, command, err, want)
		}
	}
}

// The help uses the name under which kubectl runs the binary.
func TestHelpNamesTheCommandAsItWasCalled(t *testing.T) {
	cases := map[string][]string{ // of lint's help
		"/usr/bin/evenkeel":                {"Usage:\n  evenkeel lint [FILE...] [flags]\n", "  evenkeel lint policy.yaml\n", `Use "evenkeel options" for`},
		"/home/me/.krew/kubectl-evenkeel":  {"Usage:\n  kubectl evenkeel lint [FILE...] [flags]\n", "  kubectl evenkeel lint policy.yaml\n", `Use "kubectl evenkeel options" for`},
		`kubectl-evenkeel.exe`:             {"Usage:\n  kubectl evenkeel lint [FILE...] [flags]\n"},
		"/home/me/kubectl-evenkeel-lookup": {"Usage:\n  evenkeel lint [FILE...] [flags]\n"},
	}
	for binary, wants := range cases {
		help, err := execute(t, binary, "lint --help")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(help, want) {
				t.Errorf("%s lint --help does not have %q:\n%s", binary, want, help)
			}
		}
	}
}

// The logging flags, which all commands have, are listed by `evenkeel options` and not in the help
// of each command.
func TestLoggingFlagsAreAmongTheOptions(t *testing.T) {
	options, err := execute(t, "evenkeel", "options")
	if err != nil {
		t.Fatal(err)
	}
	logging := []string{"--logging-format string", "--vmodule", "--v Level"}
	for _, command := range newRoot().Commands() {
		if command.DisableFlagParsing { // the simulator parses its own flags
			continue
		}
		help, err := execute(t, "evenkeel", command.Name()+" --help")
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range logging {
			if strings.Contains(help, flag) {
				t.Errorf("evenkeel %s --help lists %s", command.Name(), flag)
			}
		}
	}
	for _, flag := range logging {
		if !strings.Contains(options, flag) {
			t.Errorf("evenkeel options does not list %s:\n%s", flag, options)
		}
	}
}

// Commands that connect to a cluster accept kubectl's flags for that.
func TestFlagsOfKubectl(t *testing.T) {
	var lacking []string
	for _, name := range []string{"plan", "top", "explain", "doctor", "history", "ui", "run", "serve", "extender", "nodesync", "cleanup"} {
		flags := commandOf(t, newRoot(), name).Flags()
		for _, flag := range []string{"kubeconfig", "context", "as", "as-group", "namespace"} {
			if flags.Lookup(flag) == nil {
				lacking = append(lacking, name+" --"+flag)
			}
		}
		if short := flags.ShorthandLookup("n"); short == nil || short.Name != "namespace" {
			lacking = append(lacking, name+" -n")
		}
	}
	if diff := cmp.Diff([]string(nil), lacking); diff != "" {
		t.Errorf("lacking (-want +got):\n%s", diff)
	}
}
