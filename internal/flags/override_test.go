package flags

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/policy"
)

const ruleFile = "Rulename: {busy: {Promsql: busy, Threshold: 90}}"

func TestFlagsOverrideThePolicy(t *testing.T) {
	type amended struct {
		Address          string
		Interval, MaxAge time.Duration
	}
	const own = "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n"
	cases := map[string]struct {
		marking *NodeSync
		file    string
		want    amended
		err     string
	}{
		"no flags given": {marking: &NodeSync{}, file: ruleFile, want: amended{"", 10 * time.Second, 90 * time.Second}},
		"both": {
			marking: &NodeSync{Prometheus: "http://p:9090", Interval: 5 * time.Second}, file: ruleFile,
			want: amended{"http://p:9090", 5 * time.Second, 90 * time.Second},
		},
		"seldom, so that samples have to last": {
			marking: &NodeSync{Interval: 5 * time.Minute}, file: ruleFile, want: amended{"", 5 * time.Minute, 15 * time.Minute},
		},
		"an invalid address":       {marking: &NodeSync{Prometheus: "p:9090"}, file: ruleFile, err: "rule.yaml: with --prom and --seconds: usage.sources[0].prometheus.address: Invalid value"},
		"a policy that has no use": {marking: &NodeSync{Prometheus: "http://p:9090"}, file: own, err: "rule.yaml: --prom: there is no usage source of type Prometheus"},
		"too often":                {marking: &NodeSync{Interval: time.Second}, file: ruleFile, err: "usage.sampleInterval: Invalid value"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file, err := compat.Load("rule.yaml", []byte(tc.file), kinds.All)
			if err != nil {
				t.Fatal(err)
			}
			err = (&Options{NodeSync: tc.marking}).Override(file)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || exit.Code(err) != exit.Misuse {
					t.Errorf("error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			u := &file.Load.Usage
			got := amended{u.Sources[0].Config.(*prometheus.Config).Address, u.SampleInterval.Duration, u.MaxAge.Duration}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("amended (-want +got):\n%s", diff)
			}
		})
	}
}

// A plan may observe for less time than the policy sets only if windows are filled by waiting
// alone. It still observes for long enough to call a node hot.
func TestPlansObserveForLess(t *testing.T) {
	const prometheusOnly = "usage: {sources: [{type: Prometheus, prometheus: {address: 'http://p:9090'}}]}\n"
	type watched struct{ Period, MinWindow time.Duration }
	whole := watched{150 * time.Second, 150 * time.Second}
	for name, tc := range map[string]struct {
		atMost time.Duration
		policy string
		want   watched
	}{
		"not asked for":      {want: whole},
		"shorter":            {atMost: 105 * time.Second, want: watched{105 * time.Second, 105 * time.Second}},
		"longer":             {atMost: time.Hour, want: whole},
		"just as long":       {atMost: 150 * time.Second, want: whole},
		"a source remembers": {atMost: 105 * time.Second, policy: prometheusOnly, want: whole},
		"too short for the samples in a row": {
			atMost: time.Second, policy: "hot: {consecutiveSamples: 4}\n", want: watched{time.Minute, time.Minute},
		},
		"windows count earlier": {
			atMost: 105 * time.Second, policy: "hot: {minWindow: 60s}\n", want: watched{105 * time.Second, time.Minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := compat.Load("policy.yaml", []byte("apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n"+tc.policy), kinds.All)
			if err != nil {
				t.Fatal(err)
			}
			options := Options{WatchAtMost: tc.atMost}
			if err := options.Override(file); err != nil {
				t.Fatal(err)
			}
			got := watched{file.Load.Usage.ObservationPeriod.Duration, file.Load.Hot.MinWindow.Duration}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("watched (-want +got):\n%s", diff)
			}
			if errs := policy.Validate(&file.Load, kinds.All); len(errs) > 0 {
				t.Errorf("the policy is no longer valid: %v", errs)
			}
		})
	}
}
