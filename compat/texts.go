package compat

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/evenkeel/evenkeel/policy"
)

// Help lists the formats that can be converted, for help texts.
const Help = "a DeschedulerPolicy of v1alpha1, OpenShift's KubeDescheduler, Crane's DynamicSchedulerPolicy, dynamicScheduler's rules, kube-scheduler's Policy\n" +
	"or its KubeSchedulerConfiguration of a beta version"

// expected lists what a file may contain, for messages.
const expected = "a DeschedulerPolicy (descheduler/v1alpha1 or v1alpha2), a LoadPolicy (" + policy.GroupVersion + "), " +
	"a KubeDescheduler (operator.openshift.io/v1), " +
	"a DynamicSchedulerPolicy (scheduler.policy.crane.io/v1alpha1), rules of dynamicScheduler (Rulename), " +
	"a Policy or a KubeSchedulerConfiguration of kube-scheduler, or manifests of Kubernetes"

func lineOf(part policy.Part) int {
	line := part.SkippedLines + 1
	for text := range bytes.Lines(part.Text) { // skips leading comments
		trimmed := bytes.TrimSpace(text)
		if len(trimmed) > 0 && trimmed[0] != '#' {
			break
		}
		line++
	}
	return line
}

// typeText names the type of a document in messages.
func typeText(object map[string]any) string {
	apiVersion, kind := typeOf(object)
	if apiVersion == "" && kind == "" {
		return "a document without apiVersion and kind"
	}
	return fmt.Sprintf("apiVersion %q with kind %q", shorten(apiVersion), shorten(kind))
}

// name returns the name of a document for messages, or fallback.
func name(object map[string]any, fallback string) string {
	apiVersion, kind := typeOf(object)
	if apiVersion == "" && kind == "" {
		return fallback
	}
	return shorten(apiVersion + " " + kind)
}

// objectName returns the name of a Kubernetes object for messages.
func objectName(object map[string]any) string {
	kind, _ := object["kind"].(string)
	meta, _ := object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if namespace, _ := meta["namespace"].(string); namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%s %q", shorten(kind), shorten(name))
}

// problemsOf returns the problems in a policy.Error.
func problemsOf(err error) []string {
	if invalid, ok := errors.AsType[*policy.Error](err); ok {
		return invalid.Problems
	}
	return []string{err.Error()}
}

// shorten shortens a text to one readable line.
func shorten(text string) string {
	const most = 100
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	return policy.OneLine(text)
}
