package source

import (
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy/check"
)

// SecretKey refers to one key of a Secret. If all fields are empty, no Secret is used.
type SecretKey struct {
	// Namespace is the namespace of the Secret.
	Namespace string `json:"namespace"`
	// Name is the name of the Secret.
	Name string `json:"name"`
	// Key is the key in the Secret that holds the value.
	Key string `json:"key"`
}

// BasicAuth is a user name, with a password from a file or a Secret.
type BasicAuth struct {
	// Username is the user name. Empty turns basic authentication off.
	Username string `json:"username"`
	// PasswordFile contains the password. It is read again when it changes.
	PasswordFile string `json:"passwordFile"`
	// PasswordSecret refers to the password. It is read again every minute.
	// Set either this or passwordFile.
	PasswordSecret SecretKey `json:"passwordSecret"`
}

// TLS configures how a server is verified and which client certificate it
// gets. By default servers are verified against the system's certificate
// authorities.
type TLS struct {
	// CAFile contains the PEM certificates of the authorities that may sign
	// the server's certificate. Empty uses the system's.
	CAFile string `json:"caFile"`
	// CertFile contains the client certificate in PEM. It requires keyFile.
	CertFile string `json:"certFile"`
	// KeyFile contains the key of the client certificate in PEM.
	KeyFile string `json:"keyFile"`
	// ServerName is the name that the server's certificate must have. Empty
	// uses the name in the address.
	ServerName string `json:"serverName"`
	// InsecureSkipVerify accepts any server certificate, which lets anyone on
	// the path impersonate the server. It cannot be combined with caFile.
	InsecureSkipVerify bool `json:"insecureSkipVerify"`
}

// Validate checks the settings. plain reports whether TLS is not used.
func (t *TLS) Validate(path *field.Path, plain bool) field.ErrorList {
	if *t == (TLS{}) {
		return nil
	}
	if plain {
		return field.ErrorList{field.Forbidden(path, "has no effect with http; use https")}
	}
	var errs field.ErrorList
	switch {
	case t.CertFile != "" && t.KeyFile == "":
		errs = append(errs, field.Required(path.Child("keyFile"), "certFile needs the key of the certificate"))
	case t.CertFile == "" && t.KeyFile != "":
		errs = append(errs, field.Required(path.Child("certFile"), "keyFile needs the certificate of the key"))
	}
	if t.InsecureSkipVerify && t.CAFile != "" {
		errs = append(errs, field.Forbidden(path.Child("insecureSkipVerify"), "caFile sets the authorities to verify against; set only one of them"))
	}
	if _, err := netip.ParseAddr(t.ServerName); err != nil && t.ServerName != "" {
		errs = append(errs, check.Valid(path.Child("serverName"), t.ServerName, validation.IsDNS1123Subdomain)...)
	}
	return errs
}

// Validate checks a user name and the location of its password.
func (b *BasicAuth) Validate(path *field.Path) field.ErrorList {
	if *b == (BasicAuth{}) {
		return nil
	}
	var errs field.ErrorList
	inFile, inSecret := b.PasswordFile != "", b.PasswordSecret != (SecretKey{})
	switch {
	case b.Username == "":
		errs = append(errs, field.Required(path.Child("username"), "a password requires a user name"))
	case strings.Contains(b.Username, ":"):
		errs = append(errs, field.Invalid(path.Child("username"), b.Username, "must not contain a colon"))
	}
	switch {
	case inFile && inSecret:
		errs = append(errs, field.Forbidden(path.Child("passwordSecret"), "passwordFile is already set; set only one of them"))
	case !inFile && !inSecret:
		errs = append(errs, field.Required(path.Child("passwordFile"), "a user name requires passwordFile or passwordSecret"))
	}
	return append(errs, b.PasswordSecret.Validate(path.Child("passwordSecret"))...)
}

// Validate checks that either all fields or none are set.
func (s SecretKey) Validate(path *field.Path) field.ErrorList {
	if s == (SecretKey{}) {
		return nil
	}
	var errs field.ErrorList
	for _, part := range []struct {
		name, value string
		check       func(string) []string
	}{
		{"namespace", s.Namespace, validation.IsDNS1123Label},
		{"name", s.Name, validation.IsDNS1123Subdomain},
		{"key", s.Key, validation.IsConfigMapKey},
	} {
		if part.value == "" {
			errs = append(errs, field.Required(path.Child(part.name), "namespace, name and key must all be set"))
			continue
		}
		errs = append(errs, check.Valid(path.Child(part.name), part.value, part.check)...)
	}
	return errs
}

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$")

// ValidateHeaders checks the headers sent with each request.
func ValidateHeaders(path *field.Path, headers map[string]string) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		switch key := path.Key(name); {
		case !headerName.MatchString(name):
			errs = append(errs, field.Invalid(path, name, "must be the name of an HTTP header"))
		case strings.EqualFold(name, "Authorization"):
			errs = append(errs, field.Forbidden(key, "use the dedicated fields for tokens and passwords"))
		case strings.ContainsFunc(headers[name], func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			errs = append(errs, field.Invalid(key, headers[name], "must not contain line ends or control characters"))
		}
	}
	return errs
}
