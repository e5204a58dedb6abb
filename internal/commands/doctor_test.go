package commands

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/scorer/remote"
	"github.com/evenkeel/evenkeel/status/doctor"
)

// Mistakes on the command line are reported before any request is made.
func TestDoctorRefusesWrongFlags(t *testing.T) {
	cases := map[string]struct {
		wanted DoctorOptions
		want   string
	}{
		"a format":                      {DoctorOptions{Format: "xml", Mode: "serve"}, "--output"},
		"a mode":                        {DoctorOptions{Format: "json", Mode: "plan"}, "--mode"},
		"no mode":                       {DoctorOptions{Format: "json"}, "--mode"},
		"a missing file":                {DoctorOptions{Format: "json", Mode: "run", SchedulerConfig: filepath.Join(t.TempDir(), "none")}, "kube-scheduler's configuration"},
		"a Prometheus":                  {DoctorOptions{Format: "json", Mode: "serve", Prometheus: "http://p:9090"}, "--prom requires --mode nodesync"},
		"an extender":                   {DoctorOptions{Format: "json", Mode: "serve", Extender: remote.Extender{URL: "ftp://extender"}}, "--extender-url: it is not a URL"},
		"a directory instead of a file": {DoctorOptions{Format: "json", Mode: "run", SchedulerConfig: t.TempDir()}, "kube-scheduler's configuration"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := Doctor(t.Context(), flags.Options{}, tc.wanted, &out)
			if err == nil || !strings.Contains(err.Error(), tc.want) || exit.Code(err) != exit.Misuse || out.Len() > 0 {
				t.Errorf("got %v, exit code %d, output %q", err, exit.Code(err), out.String())
			}
		})
	}
}

// Doctor does not wait for objects that it is not allowed to list.
func TestMayNotList(t *testing.T) {
	answer := func(verb, group, resource string, allowed bool) doctor.Answer {
		return doctor.Answer{Need: doctor.Need{Verb: verb, Group: group, Resource: resource}, Allowed: allowed}
	}
	cases := map[string]struct {
		answers []doctor.Answer
		want    string
	}{
		"all allowed":             {[]doctor.Answer{answer("list", "", "nodes", true)}, ""},
		"pods are not":            {[]doctor.Answer{answer("list", "", "nodes", true), answer("list", "", "pods", false)}, "it is not allowed to list pods."},
		"another API's resources": {[]doctor.Answer{answer("list", "metrics.k8s.io", "pods", false)}, ""},
		"another verb":            {[]doctor.Answer{answer("patch", "", "nodes", false)}, ""},
		"unknown, so it is tried": {[]doctor.Answer{{Need: doctor.Need{Verb: "list", Resource: "nodes"}, Err: errors.New("down")}}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := mayNotList(&doctor.Rights{Answers: tc.answers}); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestCollectsMetrics(t *testing.T) {
	if collectsMetrics(&api.DeschedulerPolicy{MetricsProviders: []api.MetricsProvider{{Source: api.PrometheusMetrics}}}) {
		t.Error("Prometheus is asked separately")
	}
	if !collectsMetrics(&api.DeschedulerPolicy{MetricsProviders: []api.MetricsProvider{{Source: api.KubernetesMetrics}}}) {
		t.Error("KubernetesMetrics are not collected")
	}
}
