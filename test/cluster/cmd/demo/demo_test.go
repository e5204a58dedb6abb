package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/test/cluster/monitoring"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
)

// missing lists, by way of steering, the dashboard's queries that have no data in a demo. The key
// is the panel and the series, the value what the demo lacks.
var missing = map[string]map[string]string{
	byExtender: {
		"Webhook responses: evenkeel_webhook_responses_total":                            "there is no webhook",
		"Certificates expire in: evenkeel_extender_certificate_expiry_timestamp_seconds": "kube-scheduler asks without TLS, on this machine",
		"Certificates expire in: evenkeel_webhook_certificate_expiry_timestamp_seconds":  "there is no webhook",
	},
	byAdmission: {
		"Response time: evenkeel_extender_request_duration_seconds_bucket":               "kube-scheduler asks nobody",
		"Webhook responses: evenkeel_webhook_responses_total":                            "there is no webhook",
		"Certificates expire in: evenkeel_extender_certificate_expiry_timestamp_seconds": "kube-scheduler asks nobody",
		"Certificates expire in: evenkeel_webhook_certificate_expiry_timestamp_seconds":  "there is no webhook",
	},
	byWebhook: {
		"Response time: evenkeel_extender_request_duration_seconds_bucket": "kube-scheduler asks nobody",
	},
}

// While a demo runs, every query of the dashboard has data, except those in missing. Each query has
// data in at least one of the demos.
//
//e2e:tier all
func TestEveryPanelHasData(t *testing.T) {
	if testing.Short() {
		t.Skip("the demo starts a whole cluster; it is left out with -short")
	}
	if !prometheus.Installed() {
		t.Skip("prometheus is not in PATH; .ci/run installs it")
	}
	in := map[string]int{}
	for steering, known := range missing {
		for query := range known {
			in[query]++
		}
		t.Run(steering, func(t *testing.T) {
			want, got := map[string]bool{}, map[string]bool{}
			for query := range known {
				want[query] = true
			}
			for _, query := range emptyIn(t, steering) {
				got[query.Panel+": "+series.FindString(query.Expr)] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("queries without data (-known +found):\n%s", diff)
			}
		})
	}
	for query, demos := range in {
		if demos == len(missing) {
			t.Errorf("no demo has data for %s", query)
		}
	}
}

// series matches the name of a series; the first one in a query identifies it.
var series = regexp.MustCompile(`\b(evenkeel|go|process|rest_client)_\w+`)

// emptyIn returns the queries without data in a demo.
func emptyIn(t *testing.T, steering string) []monitoring.Query {
	t.Helper()
	t.Setenv("GOMEMLIMIT", os.Getenv("GOMEMLIMIT")) // the demo sets it; this restores it afterwards
	var out strings.Builder
	s, err := newShow(t.Context(), &out, steering)
	if err != nil {
		t.Fatal(err)
	}
	if s.board, err = newBoard(); err != nil {
		t.Fatal(err)
	}
	err = s.tell(t.Context())
	if err == nil {
		err = s.verdict()
	}
	s.close()
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if err := os.RemoveAll(s.dir); err != nil {
		t.Error(err)
	}
	return s.board.empty
}
