package nodemetrics

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy/check"
)

// Name is the source's name in policies, output and metrics.
const Name = "NodeMetrics"

// Config configures how the exporters of crane-scheduler-plus are queried.
type Config struct {
	// Scheme is http or https.
	Scheme source.Scheme `json:"scheme"`
	// Port is the exporters' port: 1 to 65535.
	Port int32 `json:"port"`
	// Path is the URL path of the usage statistics; it starts with a slash.
	Path string `json:"path"`
	// Concurrency limits how many nodes are queried at the same time: 1 to
	// 500.
	Concurrency int `json:"concurrency" retired:"the default reads thousands of nodes within one sample"`
	// Unit is the unit of the values: percent or fraction.
	Unit source.Unit `json:"unit"`
	// TLS configures how exporters are verified and which client certificate
	// they get. It requires https.
	TLS source.TLS `json:"tls"`
	// BearerTokenFile contains the token sent with each request. It is read
	// again when it changes. Empty sends no token.
	BearerTokenFile string `json:"bearerTokenFile"`
	// Headers are sent with each request. Authorization is not allowed here.
	Headers map[string]string `json:"headers" retired:"the exporters require none"`
}

var _ source.Config = (*Config)(nil)

// Default implements source.Config.
func (*Config) Default() source.Config {
	return &Config{Scheme: source.HTTP, Port: 19101, Path: "/statistics", Concurrency: 25, Unit: source.Percent}
}

var urlPath = regexp.MustCompile(`^/[!$&'()*+,;=:@%A-Za-z0-9._~/-]*$`)

// Validate implements source.Config.
func (c *Config) Validate(path *field.Path, _ []usage.Metric) field.ErrorList {
	errs := check.OneOf(path.Child("scheme"), c.Scheme, source.HTTP, source.HTTPS)
	errs = append(errs, check.Between(path.Child("port"), c.Port, 1, 65535)...)
	if !urlPath.MatchString(c.Path) {
		errs = append(errs, field.Invalid(path.Child("path"), c.Path, "must be the path of a URL, beginning with a slash"))
	}
	errs = append(errs, check.Between(path.Child("concurrency"), c.Concurrency, 1, 500)...)
	errs = append(errs, check.OneOf(path.Child("unit"), c.Unit, source.Percent, source.Fraction)...)
	errs = append(errs, c.TLS.Validate(path.Child("tls"), c.Scheme == source.HTTP)...)
	return append(errs, source.ValidateHeaders(path.Child("headers"), c.Headers)...)
}

// Describe implements source.Config.
func (c *Config) Describe() source.Description {
	return source.Description{
		Name: Name, TLS: c.TLS, GivesWindows: true, Plain: true,
		Advice: map[source.Topic]string{
			source.Refused:      " The exporter listens at 19101 on each node: kubectl get daemonsets -A",
			source.Unauthorized: "Give it a token:\n" + source.Snippet(Name, "bearerTokenFile: /path/to/token"),
			source.NotFound:     "The exporter serves usage below another path:\n" + source.Snippet(Name, "path: /statistics"),
			source.Unmatched:    "The exporter does not run there, or cannot be reached: kubectl get daemonsets -A; see the coverage check for details.",
			source.WrongUnit:    source.Snippet(Name, "unit: fraction   # or percent"),
		},
	}
}
