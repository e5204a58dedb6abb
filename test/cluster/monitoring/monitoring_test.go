package monitoring

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const exported = `# HELP evenkeel_leader 1 while it leads
# TYPE evenkeel_leader gauge
evenkeel_leader 1
# TYPE evenkeel_policy_last_load_successful gauge
evenkeel_policy_last_load_successful 0
# TYPE evenkeel_ledger_unwritable gauge
evenkeel_ledger_unwritable 0
# TYPE evenkeel_build_info gauge
evenkeel_build_info{version="v1"} 1
# TYPE evenkeel_pod_evictions_total counter
evenkeel_pod_evictions_total{namespace="a b",result="success"} 3
# TYPE evenkeel_extender_certificate_expiry_timestamp_seconds gauge
evenkeel_extender_certificate_expiry_timestamp_seconds{certificate="server"} 1.0000864e+09
`

// recorded is the recording of a process whose counter has grown by two in half a minute. Within
// that time, the process has become able to store its ledger and to report its version.
func recorded(t *testing.T) Recording {
	t.Helper()
	first, err := parse(strings.NewReplacer("} 3\n", "} 1\n", "unwritable 0", "unwritable 1", `evenkeel_build_info{version="v1"} 1`, "").Replace(exported))
	if err != nil {
		t.Fatal(err)
	}
	last, err := parse(exported)
	if err != nil {
		t.Fatal(err)
	}
	last.at = time.Unix(1e9, 0)
	first.at = last.at.Add(-30 * time.Second)
	return Recording{instance: "127.0.0.1:1", pages: []page{first, last}}
}

// After the recording, gauges keep their values or alternate, counters keep growing at their rate,
// and times are relative to the end of the recording.
func TestSeriesContinue(t *testing.T) {
	r := recorded(t)
	for series, want := range map[string][]float64{
		"evenkeel_leader":                   {1, 1, 1},
		"evenkeel_ledger_unwritable":        {1, 0, 1},
		`evenkeel_build_info{version="v1"}`: {math.NaN(), 1, math.NaN()},
		`evenkeel_pod_evictions_total{namespace="a b",result="success"}`:               {3, 7, 11},
		`evenkeel_extender_certificate_expiry_timestamp_seconds{certificate="server"}`: {86400, 86400, 86400},
	} {
		if diff := cmp.Diff(want, r.goOn(series, 2), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", series, diff)
		}
	}
}

// A series gets the labels of the scrape. Its own labels of the same names are renamed.
func TestLabels(t *testing.T) {
	r := recorded(t)
	const own = `instance="127.0.0.1:1",job="evenkeel",namespace="evenkeel"}`
	for series, want := range map[string]string{
		"evenkeel_leader":            "evenkeel_leader{" + own,
		`a{namespace="x",pod="job"}`: `a{exported_namespace="x",pod="job",` + own,
		`a{le="1",job="x"}`:          `a{le="1",exported_job="x",` + own,
	} {
		if diff := cmp.Diff(want, r.labelled(series)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", series, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{"nothing": "# HELP a b\n", "no number": "a b\n", "no value": "a\n"} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse(text); err == nil {
				t.Errorf("%q is read", text)
			}
		})
	}
}

// CheckFiring reports every alert that fires unexpectedly, and every expected alert that does not
// fire.
func TestCheckFiring(t *testing.T) {
	if !Installed() {
		t.Skip("promtool is not in PATH")
	}
	r := recorded(t)
	invalid, expires := "EvenkeelPolicyInvalid", "EvenkeelCertificateExpiresSoon"
	for name, tc := range map[string]struct {
		want  []string
		fails bool
	}{
		"those two":    {want: []string{invalid, expires}},
		"another one":  {want: []string{invalid, expires, "EvenkeelDown"}, fails: true},
		"one of those": {want: []string{invalid}, fails: true},
		"none":         {want: nil, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := CheckFiring(t.Context(), t.TempDir(), tc.want, r); (err != nil) != tc.fails {
				t.Errorf("error %v, want one: %v", err, tc.fails)
			}
		})
	}
	if err := CheckFiring(t.Context(), t.TempDir(), []string{"EvenkeelDown"}); err != nil {
		t.Error(err)
	}
}

// The shipped files can be parsed.
func TestShipped(t *testing.T) {
	alerts, err := Alerts(t.Context())
	if err != nil || len(alerts) < 15 {
		t.Errorf("%d alerts, %v", len(alerts), err)
	}
	queries, err := Queries(t.Context())
	if err != nil || len(queries) < 50 {
		t.Errorf("%d queries, %v", len(queries), err)
	}
	for _, query := range queries {
		if query.Panel == "" || query.Expr == "" || strings.Contains(query.Expr, "$") {
			t.Errorf("query %+v", query)
		}
	}
}

func TestReadAlertsRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no time": "groups: [{rules: [{alert: A}]}]", "no name": "groups: [{rules: [{for: 1m}]}]", "no YAML": "groups: [",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readAlerts([]byte(text)); err == nil {
				t.Errorf("%q is read", text)
			}
		})
	}
}
