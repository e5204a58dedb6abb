// Package source defines what a usage source consists of: settings, with their defaults
// and validation, and a description for other packages. The policy, lint, doctor and the
// policy reference use the description, and none of them refers to a source by name.
//
// The source's own package declares the settings and reads usage. Package kinds
// lists the kinds.
package source

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// Config holds the settings of one kind of source. It is a pointer to a struct whose
// fields are those of the policy. A kind without fields has no block in a policy.
type Config interface {
	// Default returns the settings of an unconfigured source.
	Default() Config
	// Validate returns all errors in the settings. metrics lists the metrics that the
	// policy adds.
	Validate(path *field.Path, metrics []usage.Metric) field.ErrorList
	// Describe returns what others need to know about a source with these
	// settings.
	Describe() Description
}

// Description is what other packages need to know about a source.
type Description struct {
	// Name is the kind of source, as used in policies, output and metrics.
	Name string
	// Server is the one server that is queried; nil if there is none, or one per
	// node.
	Server *Server
	// TLS configures how servers are verified.
	TLS TLS
	// GivesWindows reports whether windows are known from the first sample on.
	GivesWindows bool
	// DatesValues reports whether each value carries its own period of
	// validity.
	DatesValues bool
	// Signals are the metrics other than cpu and memory.
	Signals []usage.Metric
	// Pods is the prefix of the names of the pods that usually serve the
	// source; empty if there are none.
	Pods string
	// Plain reports whether the source is queried over HTTP unless the policy
	// sets https.
	Plain bool
	// Rights lists the permissions at the API server that the process needs to read the
	// source.
	Rights []Right
	// Hints holds the advice about errors. It replaces the general advice for servers
	// that are queried over HTTP.
	Hints []Hint
	// Advice explains, by topic, how to fix problems with the source.
	Advice map[Topic]string
}

// Server is a server that is queried for all nodes.
type Server struct {
	// Address is the server's URL; empty if the policy does not set it.
	Address string
	// Elsewhere names another place that may set the address; empty if only the policy
	// does.
	Elsewhere string
	// Login reports whether a token or password is sent.
	Login bool
}

// Right is one permission granted by the API server.
type Right struct {
	Verb, Group string
	// Resource may include a subresource after a slash.
	Resource string
	// Namespace and Name restrict the permission to one object; empty means
	// all.
	Namespace, Name string
	// OwnNamespace reports whether the permission is restricted to the process's
	// namespace.
	OwnNamespace bool
}

// Hint is the advice about errors that contain one of the given lower-case texts.
type Hint struct {
	Texts  []string
	Advice string
	// Topic selects more advice, appended to Advice.
	Topic Topic
}

// Topic is a kind of problem with a source.
type Topic string

// The topics.
const (
	Refused      Topic = "refused"      // nothing listens at its address
	Unauthorized Topic = "unauthorized" // it does not accept the credentials
	Forbidden    Topic = "forbidden"    // it does not allow the request
	Ungranted    Topic = "ungranted"    // the API server grants no token for it
	NotFound     Topic = "not found"    // it serves nothing at the path
	Empty        Topic = "empty"        // it covers no node
	Lacking      Topic = "lacking"      // it lacks a metric; METRIC is its placeholder
	Unmatched    Topic = "unmatched"    // it covers only some nodes
	Stray        Topic = "stray"        // it has series of other nodes instead
	Pods         Topic = "pods"         // it covers few pods, or unknown ones
	Duplicates   Topic = "duplicates"   // it has several samples of the same object
	Foreign      Topic = "foreign"      // others write about its nodes and pods
	// SeveralClusters means that the source has series of several clusters.
	SeveralClusters Topic = "several clusters"
	Future          Topic = "future"     // its samples are not accepted yet
	WrongUnit       Topic = "wrong unit" // its values are impossible
	Old             Topic = "old"        // its samples are nearly too old
)

// Block returns the name of the part of a policy that holds the settings of a
// kind; empty for a kind without a name.
func Block(name string) string {
	if name == "" {
		return ""
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// Snippet returns a line within the settings of a kind, in the format of a
// policy.
func Snippet(name, line string) string {
	return "usage:\n  sources:\n    - type: " + name + "\n      " + Block(name) + ":\n        " + line
}

// Kinds lists the kinds of sources.
type Kinds []Config

// Names returns the names of the kinds.
func (k Kinds) Names() []string {
	names := make([]string, len(k))
	for i, kind := range k {
		names[i] = kind.Describe().Name
	}
	return names
}

// Default returns the defaults of the named kind; nil if there is none.
func (k Kinds) Default(name string) Config {
	if i := slices.Index(k.Names(), name); i >= 0 {
		return k[i].Default()
	}
	return nil
}
