package access

import (
	"strings"
	"testing"
)

// What is wrong with a Config is told by the name of its field.
func TestInvalidConfigs(t *testing.T) {
	certificate, _ := identity(t)
	here, nonsense := write(t, "tls.crt", certificate), write(t, "ca.crt", "no certificate")
	read := (&vault{}).read
	cases := map[string]struct {
		config Config
		want   string
	}{
		"a file and a Secret": {
			Config{BearerToken: Credential{File: "f", Secret: inSecret().Secret}, ReadSecret: read}, "bearerToken: either a file or a Secret",
		},
		"a Secret without a name": {
			Config{BearerToken: Credential{Secret: SecretKey{Namespace: "ns", Key: "k"}}, ReadSecret: read},
			"bearerToken.secret: namespace, name and key must all be set",
		},
		"nobody to read Secrets":          {Config{Username: "ali", Password: inSecret()}, "basicAuth.password.secret: Secrets cannot be read"},
		"token and login":                 {Config{BearerToken: Credential{File: "f"}, Username: "ali", Password: Credential{File: "f"}}, "exclude each other"},
		"a login without a name":          {Config{Password: Credential{File: "f"}}, "basicAuth.username is missing"},
		"a login without a password":      {Config{Username: "ali"}, "basicAuth.password is missing"},
		"a certificate without a key":     {Config{TLS: TLS{CertFile: here}}, "tls.certFile and tls.keyFile must be set together"},
		"a missing authority":             {Config{TLS: TLS{CAFile: "/nowhere/ca.crt"}}, "tls.caFile: open /nowhere/ca.crt"},
		"an authority that is none":       {Config{TLS: TLS{CAFile: nonsense}}, "tls: unable to use specified CA cert"},
		"a key that is none":              {Config{TLS: TLS{CertFile: here, KeyFile: nonsense}}, "tls: "},
		"an authority that nobody checks": {Config{TLS: TLS{CAFile: here, InsecureSkipVerify: true}}, "tls.caFile means nothing"},
		"a header with a blank":           {Config{Headers: map[string]string{"X Y": ""}}, `headers: "X Y" is no header`},
		"a header without a name":         {Config{Headers: map[string]string{"": ""}}, `headers: "" is no header`},
		"a header of two lines":           {Config{Headers: map[string]string{"X": "a\r\nY: b"}}, `headers["X"]: the value has control characters`},
		"the token as a header":           {Config{Headers: map[string]string{"authorization": "Bearer x"}}, `headers: "Authorization" is set otherwise`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.config.Now = newClock().time
			if _, err := New(tc.config); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "Now must be set") {
		t.Errorf("got %v without a clock", err)
	}
}
