// Package scheduler converts kube-scheduler's Policy of apiVersion v1, which registered
// extenders until Kubernetes 1.22, to a KubeSchedulerConfiguration.
//
// It converts the entries for extenders and reports which other settings are lost; which
// filters and scores a profile runs is left to its owner. Invariant: current
// kube-schedulers accept whatever Convert returns without an error.
package scheduler

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// Format names the converted format.
const Format = "v1 Policy"

// Is reports whether a document is a Policy.
func Is(object map[string]any) bool {
	return object["apiVersion"] == "v1" && object["kind"] == "Policy"
}

// Convert returns the document in the current format, or all errors in it.
func Convert(object map[string]any) (policy.Conversion, field.ErrorList) {
	document := policy.Conversion{Format: Format}
	object, errs := unfold(object)
	if len(errs) > 0 {
		return document, errs
	}
	var p legacyPolicy
	if errs := shape.Decode(object, &p); len(errs) > 0 {
		return document, errs
	}
	if errs := p.validate(); len(errs) > 0 {
		return document, errs
	}
	document.Object = map[string]any{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
	document.Add("", "kube-scheduler reads this file with --config; Kubernetes 1.23 removed --policy-config-file and --policy-configmap")
	document.Add("", "kube-scheduler ignores --kubeconfig when --config is given: set clientConnection.kubeconfig here")
	p.convertAffinity(&document)
	p.convertExtenders(&document)
	p.lose(&document)
	return document, nil
}

// profileName is the name of the scheduler that a Policy configured.
const profileName = "default-scheduler"

func (p *legacyPolicy) convertAffinity(document *policy.Conversion) {
	if p.HardPodAffinitySymmetricWeight == 0 { // the default, which is still 1
		return
	}
	document.Object["profiles"] = []any{map[string]any{
		"schedulerName": profileName,
		"pluginConfig": []any{map[string]any{
			"name": "InterPodAffinity",
			"args": map[string]any{"hardPodAffinityWeight": json.Number(strconv.Itoa(int(p.HardPodAffinitySymmetricWeight)))},
		}},
	}}
	document.Add("profiles[0].pluginConfig[0].args.hardPodAffinityWeight", "was hardPodAffinitySymmetricWeight")
}

func (p *legacyPolicy) convertExtenders(document *policy.Conversion) {
	if len(p.Extenders) == 0 {
		return
	}
	var extenders []any
	for i := range p.Extenders {
		extenders = append(extenders, p.Extenders[i].convert(document, fmt.Sprintf("extenders[%d]", i)))
	}
	document.Object["extenders"] = extenders
}

// lose adds notes about settings without an equivalent.
func (p *legacyPolicy) lose(document *policy.Conversion) {
	if p.Predicates != nil {
		document.Lose("", "predicates ("+names(p.Predicates)+") are left out: all default filters run; profiles[].plugins now selects them")
	}
	if p.Priorities != nil {
		document.Lose("", "priorities ("+names(p.Priorities)+") are left out: all default scores run with their weights; profiles[].plugins now selects them")
	}
	if p.AlwaysCheckAllPredicates {
		document.Lose("", "alwaysCheckAllPredicates is left out: kube-scheduler now drops a node at the first filter that rejects it")
	}
}

// names lists the names of parts for messages.
func names(parts []namedPart) string {
	const most = 8
	var list []string
	for _, part := range parts[:min(len(parts), most)] {
		list = append(list, strconv.Quote(part.Name))
	}
	switch more := len(parts) - most; {
	case len(parts) == 0:
		return "none"
	case more > 0:
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}
