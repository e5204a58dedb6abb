package main

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/evenkeel/evenkeel/compat/presets"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
)

// meant is the meaning of an extender command line.
type meant struct {
	Memory    *presets.Memory // the settings whose policy is used
	Listen    string
	LogBodies bool
	// Verbosity and Format are the values of the logging flags.
	Verbosity, Format string
}

// extend reads a command line as the program does, but does not run it.
func extend(t *testing.T, args ...string) (meant, *policy.File, error) {
	t.Helper()
	if err := logsapi.ResetForTest(nil); err != nil {
		t.Fatal(err)
	}
	root, got := newRoot(), meant{}
	var given *policy.File
	for _, c := range root.Commands() {
		if c.Name() == "extender" {
			root.RemoveCommand(c)
		}
	}
	var c *cobra.Command
	c = extenderCommand(func(_ context.Context, options flags.Options) error {
		given, got.Listen, got.LogBodies = options.Given, options.ListenAddress, options.LogBodies
		// The legacy extender had no flags for TLS.
		if preset := given != nil; options.MemoryOnly != preset || options.InsecureServing != preset {
			t.Errorf("memory only: %v, plain HTTP allowed: %v, with the policy %v", options.MemoryOnly, options.InsecureServing, given)
		}
		got.Verbosity, got.Format = c.Flag("v").Value.String(), c.Flag("logging-format").Value.String()
		return nil
	})
	root.AddCommand(c)
	root.SetArgs(append([]string{"extender"}, args...))
	err := root.ExecuteContext(t.Context())
	return got, given, err
}

// policyOf returns the policy for the given settings.
func policyOf(t *testing.T, settings *presets.Memory) *policy.File {
	t.Helper()
	if settings == nil {
		return nil
	}
	preset, errs := settings.Preset()
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	file, _, err := presets.Load("memory preset", preset, kinds.All)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// without unsets the environment variables that the preset reads.
func without(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"PROMETHEUS_URL", "PROMETHEUS_MEMORY_METRICS", "PROMETHEUS_MEMORY_THRESHOLD", "LISTEN_ADDRESS", "LOG_REQUEST_BODY",
	} {
		t.Setenv(name, "")
	}
}

func TestMemoryFlags(t *testing.T) {
	defaults := presets.DefaultMemory()
	cases := map[string]struct {
		args string
		env  map[string]string
		want meant
	}{
		"no preset without its flags": {want: meant{Listen: ":8888", Verbosity: "0", Format: "text"}},
		"as in its readme": {
			args: "--prometheus_url=http://10.0.0.1:9090 --log.level=debug --prometheus_memory_threshold=85",
			want: meant{
				Memory: &presets.Memory{PrometheusURL: "http://10.0.0.1:9090", Metric: "HostMemoryUsagePercent", ThresholdPercent: 85},
				Listen: ":8888", Verbosity: "4", Format: "text",
			},
		},
		"with all flags from its usage text": {
			args: "--prometheus_url=http://127.0.0.1:9090 --prometheus_memory_metrics=HostMemoryUsagePercent --prometheus_memory_threshold=80" +
				" --listen_address=:8888 --log_request_body --log.level=info --log.format=logger:stderr",
			want: meant{Memory: &defaults, Listen: ":8888", LogBodies: true, Verbosity: "0", Format: "text"},
		},
		"one flag is enough": {
			args: "--prometheus_memory_threshold=80", want: meant{Memory: &defaults, Listen: ":8888", Verbosity: "0", Format: "text"},
		},
		"from the environment": {
			env: map[string]string{
				"PROMETHEUS_URL": "http://p:1", "PROMETHEUS_MEMORY_METRICS": "m", "PROMETHEUS_MEMORY_THRESHOLD": "70",
				"LISTEN_ADDRESS": "127.0.0.1:1", "LOG_REQUEST_BODY": "true",
			},
			want: meant{
				Memory: &presets.Memory{PrometheusURL: "http://p:1", Metric: "m", ThresholdPercent: 70},
				Listen: "127.0.0.1:1", LogBodies: true, Verbosity: "0", Format: "text",
			},
		},
		"a flag overrides its variable": {
			args: "--prometheus_url=http://flag:1", env: map[string]string{"PROMETHEUS_URL": "http://variable:1", "PROMETHEUS_MEMORY_THRESHOLD": "70"},
			want: meant{
				Memory: &presets.Memory{PrometheusURL: "http://flag:1", Metric: "HostMemoryUsagePercent", ThresholdPercent: 70},
				Listen: ":8888", Verbosity: "0", Format: "text",
			},
		},
		"other variables have no effect without the preset": {
			env:  map[string]string{"LISTEN_ADDRESS": "127.0.0.1:1", "LOG_REQUEST_BODY": "true"},
			want: meant{Listen: ":8888", Verbosity: "0", Format: "text"},
		},
		"its other flags work without the preset": {
			args: "--listen_address=:1 --log_request_body --policy-config-file=x",
			want: meant{Listen: ":1", LogBodies: true, Verbosity: "0", Format: "text"},
		},
		"JSON, and an unsupported log destination": {
			args: "--log.format=logger:stdout?json=true --log.level=warn",
			want: meant{
				Listen: ":8888", Verbosity: "0", Format: "json",
			},
		},
		"current logging flags take precedence": {
			args: "--log.format=logger:stderr?json=true --logging-format=text --log.level=debug --v=2",
			want: meant{Listen: ":8888", Verbosity: "2", Format: "text"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			without(t)
			for variable, value := range tc.env {
				t.Setenv(variable, value)
			}
			got, given, err := extend(t, strings.Fields(tc.args)...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(policyOf(t, tc.want.Memory), given); diff != "" {
				t.Errorf("policy (-want +got):\n%s", diff)
			}
			tc.want.Memory = nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("meant (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMemoryFlagsRefused(t *testing.T) {
	cases := map[string]struct {
		args string
		env  map[string]string
		want string
	}{
		"together with a policy": {
			args: "--prometheus_url=http://x:1 --policy-config-file=p.yaml",
			want: "--prometheus_url and --policy-config-file cannot be used together",
		},
		"from variables, together with a policy": {
			args: "--policy-config-file=p.yaml", env: map[string]string{"PROMETHEUS_URL": "http://x:1", "PROMETHEUS_MEMORY_THRESHOLD": "70"},
			want: "PROMETHEUS_URL, PROMETHEUS_MEMORY_THRESHOLD and --policy-config-file cannot be used together",
		},
		"two addresses":                    {args: "--listen_address=:1 --listen-address=:2", want: "--listen-address and --listen_address"},
		"an invalid threshold":             {args: "--prometheus_memory_threshold=high", want: `invalid argument "high" for "--prometheus_memory_threshold"`},
		"a fraction with its sign":         {args: "--prometheus_memory_threshold=80%", want: `"80%"`},
		"a threshold above 100":            {args: "--prometheus_memory_threshold=101", want: "prometheus_memory_threshold: Invalid value: 101: must be percent: above 0, at most 100"},
		"no threshold":                     {args: "--prometheus_memory_threshold=0", want: "prometheus_memory_threshold: Invalid value: 0:"},
		"a threshold of NaN":               {args: "--prometheus_memory_threshold=NaN", want: "prometheus_memory_threshold: Invalid value: NaN:"},
		"no metric":                        {args: "--prometheus_memory_metrics=", want: "prometheus_memory_metrics: Required value"},
		"an address without scheme":        {args: "--prometheus_url=prometheus:9090", want: `prometheus_url: Invalid value: "prometheus:9090": must be a URL`},
		"an address with a password":       {args: "--prometheus_url=http://me:secret@p:9090", want: `prometheus_url: Invalid value: "...@p:9090": must be a URL`},
		"a variable that is not a number":  {env: map[string]string{"PROMETHEUS_MEMORY_THRESHOLD": "high"}, want: `environment variable PROMETHEUS_MEMORY_THRESHOLD: invalid argument "high"`},
		"a variable that is not a boolean": {args: "--prometheus_url=http://x:1", env: map[string]string{"LOG_REQUEST_BODY": "perhaps"}, want: `environment variable LOG_REQUEST_BODY: invalid argument "perhaps"`},
		"an unknown level":                 {args: "--log.level=loud", want: `--log.level: "loud" is not one of debug, info, warn, error and fatal`},
		"an invalid format":                {args: "--log.format=json", want: `--log.format: "json" does not look like`},
		"an unknown log destination":       {args: "--log.format=logger:file", want: `--log.format: "file" is not one of stderr, stdout, syslog and eventlog`},
		"a flag that never existed":        {args: "--prometheus_cpu_metrics=x", want: "unknown flag: --prometheus_cpu_metrics"},
		"several mistakes in one message":  {args: "--log.level=loud --log.format=json", want: "is not one of debug, info, warn, error and fatal\n--log.format"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			without(t)
			for variable, value := range tc.env {
				t.Setenv(variable, value)
			}
			_, _, err := extend(t, strings.Fields(tc.args)...)
			if err == nil || !strings.Contains(err.Error(), tc.want) || exit.Code(err) != exit.Misuse {
				t.Errorf("error %v with exit code %d, want %q and 2", err, exit.Code(err), tc.want)
			}
			if policy.IsInvalid(err) {
				t.Errorf("%T is not a usage error", err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the password is in the error: %v", err)
			}
		})
	}
}
