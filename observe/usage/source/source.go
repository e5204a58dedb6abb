// Package source defines what a usage source is: its settings, which know their
// defaults and what is wrong with them, and what others need to know about it.
// The policy, lint, doctor and the policy reference use the description; none
// of them knows a source by its name.
//
// The source's own package reads usage and declares the settings. Package kinds
// lists the kinds.
package source

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// Config is how a source of one kind is read: a pointer to a struct whose
// fields are what a policy says of it. A kind without fields has no block in a
// policy.
type Config interface {
	// Default returns the settings of an unconfigured source.
	Default() Config
	// Validate returns everything that is wrong with the settings. metrics are
	// those that the policy adds.
	Validate(path *field.Path, metrics []usage.Metric) field.ErrorList
	// Describe returns what others need to know about a source with these
	// settings.
	Describe() Description
}

// Description is what others need to know about a source.
type Description struct {
	// Name is the kind of source, as policies, output and metrics have it.
	Name string
	// Server is the one server that is asked; nil if there is none, or one per
	// node.
	Server *Server
	// TLS is how servers are checked.
	TLS TLS
	// GivesWindows reports whether windows are known from the first sample on.
	GivesWindows bool
	// DatesValues reports whether each value carries its own period of
	// validity.
	DatesValues bool
	// Signals are the metrics other than cpu and memory.
	Signals []usage.Metric
	// Pods is what the names of the pods begin with that commonly serve it; empty
	// if there are none.
	Pods string
	// Plain reports whether it is asked by http unless the policy says https.
	Plain bool
	// Rights are what the process needs from the API server to read it.
	Rights []Right
	// Hints are the advice about errors, replacing that for servers that are
	// asked over HTTP.
	Hints []Hint
	// Advice is how to fix what is wrong with the source.
	Advice map[Topic]string
}

// Server is a server that is asked for all nodes.
type Server struct {
	// Address is its URL; empty if the policy does not give it.
	Address string
	// Login reports whether a token or password is sent.
	Login bool
}

// Right is one thing that the API server has to allow.
type Right struct {
	Verb, Group string
	// Resource may carry a subresource after a slash.
	Resource string
	// Namespace and Name narrow it down; empty means all.
	Namespace, Name string
	// OwnNamespace means the process's namespace.
	OwnNamespace bool
}

// Hint is the advice about errors with one of these lower-case texts.
type Hint struct {
	Texts  []string
	Advice string
	// Topic selects more advice, appended to Advice.
	Topic Topic
}

// Topic is what may be wrong with a source.
type Topic string

// The topics.
const (
	Refused      Topic = "refused"      // nothing listens at its address
	Unauthorized Topic = "unauthorized" // it does not know who is asking
	Forbidden    Topic = "forbidden"    // it does not allow it
	Ungranted    Topic = "ungranted"    // the API server grants no token for it
	NotFound     Topic = "not found"    // it has nothing at the path
	Empty        Topic = "empty"        // it covers no node
	Lacking      Topic = "lacking"      // it lacks a metric, for which METRIC stands
	Unmatched    Topic = "unmatched"    // it covers some nodes only
	Stray        Topic = "stray"        // it has series of other nodes instead
	Pods         Topic = "pods"         // it covers few pods, or others
	Duplicates   Topic = "duplicates"   // it has several samples of one thing
	Foreign      Topic = "foreign"      // others write about its nodes and pods
	// SeveralClusters means that it has series of several clusters.
	SeveralClusters Topic = "several clusters"
	Future          Topic = "future"     // its samples are not taken yet
	WrongUnit       Topic = "wrong unit" // its numbers cannot be
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

// Snippet is a line within the settings of a kind, as a policy has it.
func Snippet(name, line string) string {
	return "usage:\n  sources:\n    - type: " + name + "\n      " + Block(name) + ":\n        " + line
}

// Kinds are the kinds of sources there are.
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
