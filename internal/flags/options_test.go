package flags

import (
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/scorer/remote"
)

// Plain HTTP that other hosts can reach is served only if a flag allows it.
func TestPlainHTTPIsAskedFor(t *testing.T) {
	const refused = "--insecure-serving"
	for name, tc := range map[string]struct {
		options Options
		want    string
	}{
		"everywhere":                 {Options{ListenAddress: ":8888"}, refused},
		"on an address of the host":  {Options{ListenAddress: "10.0.0.1:8888"}, refused},
		"by a name":                  {Options{ListenAddress: "extender.example.com:8888"}, refused},
		"on loopback":                {Options{ListenAddress: "127.0.0.1:8888"}, ""},
		"on loopback by its name":    {Options{ListenAddress: "localhost:8888"}, ""},
		"enabled by a flag":          {Options{ListenAddress: ":8888", InsecureServing: true}, ""},
		"HTTPS":                      {Options{ListenAddress: ":8443", TLSCertFile: "tls.crt", TLSKeyFile: "tls.key"}, ""},
		"HTTPS, and HTTP beside it":  {Options{ListenAddress: ":8443", TLSCertFile: "tls.crt", TLSKeyFile: "tls.key", InsecureAddress: ":8888"}, ""},
		"HTTP twice":                 {Options{ListenAddress: "127.0.0.1:8888", InsecureAddress: ":8889"}, "--insecure-listen-address requires --tls-cert-file"},
		"a useless second address":   {Options{ListenAddress: ":8443", TLSCertFile: "tls.crt", TLSKeyFile: "tls.key", InsecureAddress: "8888"}, "--insecure-listen-address: address 8888: missing port"},
		"a certificate alone":        {Options{ListenAddress: ":8443", TLSCertFile: "tls.crt"}, "--tls-cert-file and --tls-private-key-file must be used together"},
		"a process that only evicts": {Options{}, ""},
		"a webhook":                  {Options{WebhookAddress: ":9443", WebhookCertFile: "tls.crt", WebhookKeyFile: "tls.key"}, ""},
		"a webhook by plain HTTP":    {Options{WebhookAddress: ":9443"}, "--webhook-address, --webhook-cert-file and --webhook-private-key-file must be used together"},
		"half a webhook":             {Options{WebhookAddress: ":9443", WebhookCertFile: "tls.crt"}, "must be used together"},
		"a webhook nowhere":          {Options{WebhookCertFile: "tls.crt", WebhookKeyFile: "tls.key"}, "must be used together"},
		"a webhook without a port":   {Options{WebhookAddress: "10.0.0.1", WebhookCertFile: "tls.crt", WebhookKeyFile: "tls.key"}, "--webhook-address"},
	} {
		t.Run(name, func(t *testing.T) {
			wantInvalid(t, tc.options.Validate(), tc.want)
		})
	}
}

// Invalid settings for reaching an extender are found before anything starts.
func TestExtendersToAskAreChecked(t *testing.T) {
	for name, tc := range map[string]struct {
		extender remote.Extender
		want     string
	}{
		"none":             {remote.Extender{}, ""},
		"by HTTP":          {remote.Extender{URL: "http://127.0.0.1:8888"}, ""},
		"no scheme":        {remote.Extender{URL: "evenkeel:8443"}, "--extender-url: it is not a URL"},
		"a missing CA":     {remote.Extender{URL: "https://evenkeel:8443", TLS: source.TLS{CAFile: "/nowhere/ca.crt"}}, "/nowhere/ca.crt"},
		"a key on its own": {remote.Extender{URL: "https://evenkeel:8443", TLS: source.TLS{KeyFile: "client.key"}}, "must be used together"},
	} {
		t.Run(name, func(t *testing.T) {
			options := Options{Extender: tc.extender}
			wantInvalid(t, options.Validate(), tc.want)
		})
	}
}

// Reports are served only on loopback. The flag for the readers of metrics accepts only a few
// values.
func TestValidateAddresses(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		want    string
	}{
		"nothing":                     {},
		"reports on IPv4 loopback":    {options: Options{ReportAddress: "127.0.0.9:8889"}},
		"reports on IPv6 loopback":    {options: Options{ReportAddress: "[::1]:8889"}},
		"reports on localhost":        {options: Options{ReportAddress: "localhost:8889"}},
		"no reports":                  {options: Options{ReportAddress: "0"}},
		"reports on every address":    {options: Options{ReportAddress: ":8889"}, want: `--report-address: ":8889" is not a loopback address`},
		"reports on an address":       {options: Options{ReportAddress: "10.0.0.1:8889"}, want: "--report-address"},
		"reports at another's name":   {options: Options{ReportAddress: "localhost.example:8889"}, want: "--report-address"},
		"reports without a port":      {options: Options{ReportAddress: "127.0.0.1"}, want: "--report-address"},
		"metrics for those allowed":   {options: Options{MetricsAccess: "authorized"}},
		"metrics for nobody":          {options: Options{MetricsAccess: "off"}},
		"metrics without nodes":       {options: Options{MetricsNodeLimit: -1}, want: "--metrics-node-limit: -1 is negative"},
		"metrics of negative owners":  {options: Options{MetricsOwnerLimit: -1}, want: "--metrics-owner-limit: -1 is not between 0 and 100"},
		"metrics of many owners":      {options: Options{MetricsOwnerLimit: 100}},
		"metrics of too many owners":  {options: Options{MetricsOwnerLimit: 101}, want: "--metrics-owner-limit: 101 is not between 0 and 100"},
		"metrics for some":            {options: Options{MetricsAccess: "some"}, want: `--metrics-access: "some" is not one of ["open" "authorized" "off"]`},
		"metrics on an address alone": {options: Options{MetricsAddress: "10.0.0.1"}, want: "--metrics-address"},
	} {
		t.Run(name, func(t *testing.T) {
			wantInvalid(t, tc.options.Validate(), tc.want)
		})
	}
}

func wantInvalid(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want) || exit.Code(err) != exit.Misuse):
		t.Errorf("exit code %d, error %v, want %q", exit.Code(err), err, want)
	}
}

// A process that releases held pods must know where they should go. A standby replica without the
// leader's ledger would let them go anywhere.
func TestFollows(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		answers bool
		want    bool
	}{
		"a replica of serve":                   {Options{Interval: time.Minute, LeaderElect: true}, true, true},
		"a replica of run":                     {Options{Interval: time.Minute, LeaderElect: true}, false, true},
		"the only process":                     {Options{Interval: time.Minute}, false, false},
		"a Job, which knows moves as it leads": {Options{LeaderElect: true}, false, false},
		"a dry run":                            {Options{Interval: time.Minute, LeaderElect: true, DryRun: true}, false, false},
	} {
		if got := tc.options.Follows(tc.answers); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
