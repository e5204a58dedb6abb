package source

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Errors in credentials name the field.
func TestInvalidLogins(t *testing.T) {
	path := field.NewPath("x")
	whole := SecretKey{Namespace: "ns", Name: "n", Key: "k"}
	basic := func(b BasicAuth) field.ErrorList { return b.Validate(path) }
	tls := func(settings TLS) field.ErrorList { return settings.Validate(path, false) }
	headers := func(name, value string) field.ErrorList { return ValidateHeaders(path, map[string]string{name: value}) }
	cases := map[string]struct {
		errs field.ErrorList
		want string
	}{
		"a Secret without a name":            {SecretKey{Namespace: "ns", Key: "k"}.Validate(path), "x.name: Required value: namespace, name and key must all be set"},
		"a file and a Secret":                {basic(BasicAuth{Username: "ali", PasswordFile: "f", PasswordSecret: whole}), "x.passwordSecret: Forbidden: passwordFile is already set"},
		"a login without a name":             {basic(BasicAuth{PasswordFile: "f"}), "x.username: Required value"},
		"a login without a password":         {basic(BasicAuth{Username: "ali"}), "x.passwordFile: Required value"},
		"a certificate without a key":        {tls(TLS{CertFile: "f"}), "x.keyFile: Required value"},
		"a key without a certificate":        {tls(TLS{KeyFile: "f"}), "x.certFile: Required value"},
		"an authority that is never checked": {tls(TLS{CAFile: "f", InsecureSkipVerify: true}), "x.insecureSkipVerify: Forbidden"},
		"a header with a blank":              {headers("X Y", ""), `x: Invalid value: "X Y"`},
		"a header without a name":            {headers("", ""), `x: Invalid value: ""`},
		"a two-line header":                  {headers("X", "a\r\nY: b"), "x[X]: Invalid value"},
		"the token as a header":              {headers("authorization", "Bearer x"), "x[authorization]: Forbidden"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if len(tc.errs) != 1 || !strings.HasPrefix(tc.errs[0].Error(), tc.want) {
				t.Errorf("got %v, want one that begins with %q", tc.errs, tc.want)
			}
		})
	}
}
