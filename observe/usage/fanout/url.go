package fanout

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/evenkeel/evenkeel/cluster"
)

// errNoAddress is the error for a node without a usable address.
var errNoAddress = errors.New("it has neither an InternalIP nor a Hostname address")

// Endpoint is the URL part that is the same for all nodes.
type Endpoint struct {
	// Scheme is http or https.
	Scheme string
	Port   int
	// Path begins with a slash and may have a query.
	Path string
}

// URL returns the URL at which a node serves the endpoint. The host is the node's
// InternalIP, or its Hostname if it has none. A path that names another host is an error,
// because paths may come from annotations.
func (e Endpoint) URL(node *cluster.Node) (string, error) {
	host := cmp.Or(node.InternalIP, node.Hostname)
	if host == "" {
		return "", errNoAddress
	}
	if e.Port < 1 || e.Port > 65535 {
		return "", fmt.Errorf("%d is not a port", e.Port)
	}
	if !strings.HasPrefix(e.Path, "/") || strings.HasPrefix(e.Path, "//") {
		return "", fmt.Errorf("%q is not a path", e.Path)
	}
	path, err := url.ParseRequestURI(e.Path)
	if err != nil {
		return "", fmt.Errorf("%q is not a path", e.Path)
	}
	path.Scheme, path.Host = e.Scheme, net.JoinHostPort(host, strconv.Itoa(e.Port))
	return path.String(), nil
}
