package app

import (
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/internal/exit"
)

// Reports are on loopback only, and who reads metrics is one of a few words.
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
		"reports on every address":    {options: Options{ReportAddress: ":8889"}, want: `--report-address: ":8889" is no loopback address`},
		"reports on an address":       {options: Options{ReportAddress: "10.0.0.1:8889"}, want: "--report-address"},
		"reports at another's name":   {options: Options{ReportAddress: "localhost.example:8889"}, want: "--report-address"},
		"reports without a port":      {options: Options{ReportAddress: "127.0.0.1"}, want: "--report-address"},
		"metrics for those allowed":   {options: Options{MetricsAccess: "authorized"}},
		"metrics for nobody":          {options: Options{MetricsAccess: "off"}},
		"metrics for some":            {options: Options{MetricsAccess: "some"}, want: `--metrics-access: "some" is not one of ["open" "authorized" "off"]`},
		"metrics on an address alone": {options: Options{MetricsAddress: "10.0.0.1"}, want: "--metrics-address"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.options.Validate()
			if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || exit.Code(err) != exit.Misuse) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
