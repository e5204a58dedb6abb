package prometheus

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/evenkeel/evenkeel/usage"
)

// Query says how to ask for a metric in place of the preset's way.
type Query struct {
	// Expression is what the metric is now, in PromQL; windows are made of it. Its series must keep a label that names the
	// node, or the labels that name the pod.
	Expression string
	// Windows are whole expressions for single windows. If there is no Expression that tells when a node was measured, the
	// newest sample of a plain selector does, and anything else counts as measured when it is evaluated.
	Windows map[usage.Window]string
	// Unit is what the values are in; empty is cores for cpu, bytes for memory and none for other metrics.
	Unit Unit
}

// The defaults of a Config.
const (
	DefaultRateWindow       = 2 * time.Minute
	DefaultParallel         = 4
	DefaultMaxResponseBytes = 128 << 20
)

// Config says where the server is and what to ask it for. Client, Address, Timeout, QueriesPerSecond, Windows, Metrics and
// Now must be set.
type Config struct {
	// Client knows how to authenticate; Address is the server's base URL, with a path if the API lies below one.
	Client  *http.Client
	Address string
	// Timeout bounds one query, QueriesPerSecond how fast they follow each other, Parallel how many run at once.
	Timeout          time.Duration
	QueriesPerSecond float64
	Parallel         int
	// MaxResponseBytes bounds one answer.
	MaxResponseBytes int64
	// MaxAge is how old a sample may be; zero leaves it to the Store.
	MaxAge time.Duration

	// Windows and Metrics are what is needed of nodes.
	Windows []usage.Window
	Metrics []usage.Metric
	// NodesOnly asks for no pods.
	NodesOnly bool
	// EveryNode tells of all nodes, of those without a series without a reading: for queries that give no series where there
	// is nothing to be said.
	EveryNode bool

	// Preset says by which names nodes are measured; empty is NodeExporter.
	Preset Preset
	// Matchers are added to each selector of the presets, such as cluster="prod" where one server has several clusters.
	Matchers string
	// RateWindow is the range of irate: at least twice the scrape interval.
	RateWindow time.Duration
	// NodeLabel names the node in series of nodes; empty looks for one that does. NamespaceLabel and PodLabel name the pod.
	NodeLabel, NamespaceLabel, PodLabel string
	// Queries and PodQueries replace the preset's; pods have cpu and memory.
	Queries, PodQueries map[usage.Metric]Query

	// Now tells the time.
	Now func() time.Time
}

func (c *Config) setDefaults() {
	c.Preset = orElse(c.Preset, NodeExporter)
	c.RateWindow = orElse(c.RateWindow, DefaultRateWindow)
	c.NamespaceLabel, c.PodLabel = orElse(c.NamespaceLabel, "namespace"), orElse(c.PodLabel, "pod")
	c.Parallel = orElse(c.Parallel, DefaultParallel)
	c.MaxResponseBytes = orElse(c.MaxResponseBytes, DefaultMaxResponseBytes)
}

func orElse[T comparable](value, fallback T) T {
	if value == *new(T) {
		return fallback
	}
	return value
}

var (
	labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	// matcherList is what may stand between the braces of a selector.
	matcherList = regexp.MustCompile(`^\s*` + matcher + `(\s*,\s*` + matcher + `)*\s*$`)
)

const matcher = `[a-zA-Z_][a-zA-Z0-9_]*\s*(=|!=|=~|!~)\s*"([^"\\\n]|\\[^\n])*"`

func (c *Config) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Client != nil && c.Now != nil, "Client and Now must be set")
	check(c.Timeout > 0 && c.QueriesPerSecond > 0, "timeout and queriesPerSecond must be above 0")
	check(c.Parallel > 0 && c.MaxResponseBytes > 0, "parallel and maxResponseBytes must be above 0")
	check(c.MaxAge >= 0, "maxAge must not be negative")
	check(c.RateWindow >= time.Second, "rateWindow %v is under a second", c.RateWindow)
	check(len(c.Windows) > 0 && len(c.Metrics) > 0, "windows and metrics must not be empty")
	check(c.Preset == NodeExporter || c.Preset == Kubelet, "preset %q is not one of %q", c.Preset, []Preset{NodeExporter, Kubelet})
	check(c.Matchers == "" || matcherList.MatchString(c.Matchers), `matchers %q are not as in a selector: label="value",…`, c.Matchers)
	check(c.NodeLabel == "" || labelName.MatchString(c.NodeLabel), "nodeLabel %q is not a label", c.NodeLabel)
	check(labelName.MatchString(c.NamespaceLabel), "namespaceLabel %q is not a label", c.NamespaceLabel)
	check(labelName.MatchString(c.PodLabel), "podLabel %q is not a label", c.PodLabel)
	if _, err := c.base(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// base reads the address.
func (c *Config) base() (*url.URL, error) {
	base, err := url.Parse(c.Address)
	switch {
	case err != nil:
		return nil, errors.New("address is not a URL") // what is wrong could be a password
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, fmt.Errorf("address %q must begin with http:// or https:// and name a host", base.Redacted())
	case base.User != nil:
		return nil, errors.New("address must not hold a user or password; basic authentication has fields of its own")
	case base.Fragment != "":
		return nil, fmt.Errorf("address %q must not have a fragment", c.Address)
	}
	return base, nil
}
