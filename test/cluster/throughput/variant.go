package throughput

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// Handler is kube-scheduler's extender.
type Handler string

// The handlers.
const (
	// NoHandler means that kube-scheduler has no extender.
	NoHandler Handler = ""
	// Decoding is a handler that decodes with encoding/json into the Kubernetes
	// types and decides nothing.
	Decoding Handler = "decoding"
	// Echoing is a handler that decides nothing and does not even decode requests: it only
	// finds the node names and copies them.
	Echoing Handler = "echoing"
	// Evenkeel is `evenkeel extender`.
	Evenkeel Handler = "evenkeel"
)

// Variant is one way to run kube-scheduler.
type Variant struct {
	Name    string
	Handler Handler
	// Secure uses mutual TLS with client certificates.
	Secure bool
	// PrioritizeAlone omits the filter verb.
	PrioritizeAlone bool
	// Managed restricts the extender to pods that request a resource. No pod requests it.
	Managed bool
	// Own runs the kube-scheduler that contains Evenkeel's plugin; Plugin enables the
	// plugin.
	Own, Plugin bool
	// SideBySide places the variant's pods in turns with other variants, seconds apart.
	SideBySide bool
	// Admission runs `evenkeel serve`, with steering by the API server, while this variant
	// places pods. While any other variant does, `evenkeel serve` is paused.
	Admission bool
}

// Verbs returns how often the handler is called for each pod.
func (v Variant) Verbs() int {
	switch {
	case v.Handler == NoHandler || v.Managed:
		return 0
	case v.PrioritizeAlone:
		return 1
	default:
		return 2
	}
}

// SchedulerName returns the scheduler name in a variant's pods. Each variant that runs
// side by side has its own.
func (v Variant) SchedulerName() string {
	if v.SideBySide {
		return v.Name
	}
	return v1.DefaultSchedulerName
}

// Variants returns all variants in the order in which each round runs them; variants that
// are compared are adjacent.
func Variants() []Variant {
	return []Variant{
		{Name: "none"},
		{Name: "managed", Handler: Evenkeel, Managed: true},
		{Name: "neutral", Handler: Decoding},
		{Name: "evenkeel", Handler: Evenkeel},
		{Name: "echo", Handler: Echoing},
		{Name: "neutral-prioritize", Handler: Decoding, PrioritizeAlone: true},
		{Name: "evenkeel-prioritize", Handler: Evenkeel, PrioritizeAlone: true},
		{Name: "echo-prioritize", Handler: Echoing, PrioritizeAlone: true},
		{Name: "plain", Handler: Evenkeel, SideBySide: true},
		{Name: "tls", Handler: Evenkeel, Secure: true, SideBySide: true},
		{Name: "alone", SideBySide: true},
		{Name: "admission", SideBySide: true, Admission: true},
		{Name: "stock", Own: true, SideBySide: true},
		{Name: "plugin", Own: true, Plugin: true, SideBySide: true},
	}
}

// Comparisons returns the comparisons to show.
func Comparisons() []measure.Comparison {
	return append(measure.SchedulerGoals(),
		measure.Comparison{Of: "neutral", Beside: "none"},
		measure.Comparison{Of: "echo", Beside: "none"},
		measure.Comparison{Of: "evenkeel", Beside: "none"},
		measure.Comparison{Of: "evenkeel-prioritize", Beside: "none"},
	)
}

// Choose picks variants by name, in the order of Variants; an empty list picks
// all.
func Choose(names []string) ([]Variant, error) {
	all := Variants()
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, v := range all {
		known = append(known, v.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no variant %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(v Variant) bool { return !slices.Contains(names, v.Name) }), nil
}
