package policy

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy/check"
)

var (
	headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$")
	promLabel  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	urlPath    = regexp.MustCompile(`^/[!$&'()*+,;=:@%A-Za-z0-9._~/-]*$`)
)

func validatePrometheus(u *Usage, p *PrometheusSource, path *field.Path) field.ErrorList {
	errs := validateAddress(p.Address, path.Child("address"))
	errs = append(errs, validateLogin(p, path)...)
	errs = append(errs, validateTLS(&p.TLS, strings.HasPrefix(p.Address, "http:"), path.Child("tls"))...)
	errs = append(errs, validateHeaders(p.Headers, path.Child("headers"))...)
	if p.NodeLabel != "" {
		errs = append(errs, validateLabelName(p.NodeLabel, path.Child("nodeLabel"))...)
	}
	errs = append(errs, validateLabelName(p.NamespaceLabel, path.Child("namespaceLabel"))...)
	errs = append(errs, validateLabelName(p.PodLabel, path.Child("podLabel"))...)
	errs = append(errs, check.OneOf(path.Child("nodeMetrics"), p.NodeMetrics, NamesNodeExporter, NamesKubelet)...)
	errs = append(errs, check.Duration(path.Child("rateWindow"), p.RateWindow, 10*time.Second, 10*time.Minute)...)
	errs = append(errs, validateQueries(u, &p.Queries, path.Child("queries"))...)
	return errs
}

func validateAddress(address string, path *field.Path) field.ErrorList {
	if address == "" {
		return nil
	}
	parsed, err := url.Parse(address)
	if err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Hostname() != "" &&
		parsed.User == nil && parsed.RawQuery == "" && !parsed.ForceQuery && !strings.Contains(address, "#") {
		return nil
	}
	if at := strings.LastIndexByte(address, '@'); at >= 0 {
		address = "..." + address[at:] // what stands before it may be a password
	}
	return field.ErrorList{field.Invalid(path, address,
		"must be a URL such as https://prometheus.monitoring:9090/prefix, without user, query and fragment")}
}

// validateLogin makes sure that there is one way of logging in at most.
func validateLogin(p *PrometheusSource, path *field.Path) field.ErrorList {
	var ways []string
	if p.BearerTokenFile != "" {
		ways = append(ways, "bearerTokenFile")
	}
	if p.BearerTokenSecret != (SecretKey{}) {
		ways = append(ways, "bearerTokenSecret")
	}
	if p.BasicAuth != (BasicAuth{}) {
		ways = append(ways, "basicAuth")
	}
	var errs field.ErrorList
	if len(ways) > 1 {
		errs = append(errs, field.Forbidden(path.Child(ways[1]), fmt.Sprintf("%s is set already; only one of them may be", ways[0])))
	}
	errs = append(errs, validateSecretKey(p.BearerTokenSecret, path.Child("bearerTokenSecret"))...)
	return append(errs, validateBasicAuth(&p.BasicAuth, path.Child("basicAuth"))...)
}

func validateBasicAuth(b *BasicAuth, path *field.Path) field.ErrorList {
	if *b == (BasicAuth{}) {
		return nil
	}
	var errs field.ErrorList
	inFile, inSecret := b.PasswordFile != "", b.PasswordSecret != (SecretKey{})
	switch {
	case b.Username == "":
		errs = append(errs, field.Required(path.Child("username"), "a password needs a user name"))
	case strings.Contains(b.Username, ":"):
		errs = append(errs, field.Invalid(path.Child("username"), b.Username, "must not contain a colon"))
	}
	switch {
	case inFile && inSecret:
		errs = append(errs, field.Forbidden(path.Child("passwordSecret"), "passwordFile is set already; only one of them may be"))
	case !inFile && !inSecret:
		errs = append(errs, field.Required(path.Child("passwordFile"), "a user name needs passwordFile or passwordSecret"))
	}
	return append(errs, validateSecretKey(b.PasswordSecret, path.Child("passwordSecret"))...)
}

func validateSecretKey(s SecretKey, path *field.Path) field.ErrorList {
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

// validateTLS checks what is set of TLS; plain says that it is not spoken.
func validateTLS(t *TLS, plain bool, path *field.Path) field.ErrorList {
	if *t == (TLS{}) {
		return nil
	}
	if plain {
		return field.ErrorList{field.Forbidden(path, "has no meaning with http; use https")}
	}
	var errs field.ErrorList
	switch {
	case t.CertFile != "" && t.KeyFile == "":
		errs = append(errs, field.Required(path.Child("keyFile"), "certFile needs the key of the certificate"))
	case t.CertFile == "" && t.KeyFile != "":
		errs = append(errs, field.Required(path.Child("certFile"), "keyFile needs the certificate of the key"))
	}
	if t.InsecureSkipVerify && t.CAFile != "" {
		errs = append(errs, field.Forbidden(path.Child("insecureSkipVerify"), "caFile says what to check certificates against; only one of them may be set"))
	}
	if _, err := netip.ParseAddr(t.ServerName); err != nil && t.ServerName != "" {
		errs = append(errs, check.Valid(path.Child("serverName"), t.ServerName, validation.IsDNS1123Subdomain)...)
	}
	return errs
}

func validateHeaders(headers map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		switch key := path.Key(name); {
		case !headerName.MatchString(name):
			errs = append(errs, field.Invalid(path, name, "must be the name of an HTTP header"))
		case strings.EqualFold(name, "Authorization"):
			errs = append(errs, field.Forbidden(key, "fields of their own hold tokens and passwords"))
		case strings.ContainsFunc(headers[name], func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			errs = append(errs, field.Invalid(key, headers[name], "must not contain line ends or control characters"))
		}
	}
	return errs
}

func validateLabelName(name string, path *field.Path) field.ErrorList {
	if promLabel.MatchString(name) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "must be the name of a label: letters, digits and '_', no digit first")}
}

func validateKubelet(k *KubeletSource, path *field.Path) field.ErrorList {
	errs := check.OneOf(path.Child("scheme"), k.Scheme, SchemeHTTPS, SchemeHTTP)
	errs = append(errs, check.Between(path.Child("port"), k.Port, 0, 65535)...)
	errs = append(errs, check.Between(path.Child("concurrency"), k.Concurrency, 1, 500)...)
	errs = append(errs, check.OneOf(path.Child("endpoint"), k.Endpoint, EndpointSummary, EndpointResource)...)
	return append(errs, validateTLS(&k.TLS, k.Scheme == SchemeHTTP, path.Child("tls"))...)
}

func validateNodeMetrics(n *NodeMetricsSource, path *field.Path) field.ErrorList {
	errs := check.OneOf(path.Child("scheme"), n.Scheme, SchemeHTTP, SchemeHTTPS)
	errs = append(errs, check.Between(path.Child("port"), n.Port, 1, 65535)...)
	if !urlPath.MatchString(n.Path) {
		errs = append(errs, field.Invalid(path.Child("path"), n.Path, "must be the path of a URL, beginning with a slash"))
	}
	errs = append(errs, check.Between(path.Child("concurrency"), n.Concurrency, 1, 500)...)
	errs = append(errs, check.OneOf(path.Child("unit"), n.Unit, UnitPercent, UnitFraction)...)
	errs = append(errs, validateTLS(&n.TLS, n.Scheme == SchemeHTTP, path.Child("tls"))...)
	return append(errs, validateHeaders(n.Headers, path.Child("headers"))...)
}
