package access

import (
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// The error for an invalid Config names the field.
func TestInvalidConfigs(t *testing.T) {
	certificate, _ := identity(t)
	here, nonsense := write(t, "tls.crt", certificate), write(t, "ca.crt", "no certificate")
	cases := map[string]struct {
		config Config
		want   string
	}{
		"no way to read a token": {Config{BearerTokenSecret: inSecret()}, "ReadSecret must be set"},
		"no way to read Secrets": {
			Config{BasicAuth: source.BasicAuth{Username: "ali", PasswordSecret: inSecret()}}, "ReadSecret must be set",
		},
		"a missing authority":  {Config{TLS: source.TLS{CAFile: "/nowhere/ca.crt"}}, "open /nowhere/ca.crt"},
		"an invalid authority": {Config{TLS: source.TLS{CAFile: nonsense}}, "tls: unable to use specified CA cert"},
		"an invalid key":       {Config{TLS: source.TLS{CertFile: here, KeyFile: nonsense}}, "tls: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			setup := given{Config: tc.config, Now: newClock().time}
			if _, err := setup.client(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := new(given).client(); err == nil || !strings.Contains(err.Error(), "Now must be set") {
		t.Errorf("got %v without a clock", err)
	}
}
