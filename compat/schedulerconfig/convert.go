// Package schedulerconfig converts a KubeSchedulerConfiguration of a beta version to v1.
// It checks the arguments of plugins and keeps them: the kube-scheduler that Evenkeel
// builds accepts the arguments of legacy systems' plugins, and those of kube-scheduler's
// own plugins changed only their version.
package schedulerconfig

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// Is reports whether a document is a kube-scheduler configuration of any version.
func Is(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	return object["kind"] == Kind && strings.HasPrefix(apiVersion, Group+"/")
}

// Current reports whether a configuration has the current version.
func Current(object map[string]any) bool { return object["apiVersion"] == currentVersion }

// Convert returns the configuration in the current version, or all errors in it. A
// configuration of the current version is only checked.
func Convert(object map[string]any) (policy.Conversion, field.ErrorList) {
	apiVersion, _ := object["apiVersion"].(string)
	doc := policy.Conversion{Format: Kind + " of " + apiVersion}
	if apiVersion != currentVersion && !slices.Contains(versions, apiVersion) {
		return doc, field.ErrorList{field.NotSupported(field.NewPath("apiVersion"), apiVersion, append([]string{currentVersion}, versions...))}
	}
	doc.Object = runtime.DeepCopyJSON(object)
	if apiVersion != currentVersion {
		doc.Object["apiVersion"] = currentVersion
		doc.Add("apiVersion", "was "+apiVersion+", which kube-scheduler no longer reads")
		dropAddresses(&doc)
	}
	if errs := shape.Check(nil, doc.Object, reflect.TypeFor[schedulerv1.KubeSchedulerConfiguration]()); len(errs) > 0 {
		return doc, errs
	}
	var errs field.ErrorList
	for i, profile := range shape.Mappings(object["profiles"]) {
		errs = append(errs, checkPlugins(field.NewPath("profiles").Index(i), profile)...)
	}
	if len(errs) > 0 {
		return doc, errs
	}
	if apiVersion != currentVersion {
		renewLock(&doc)
	}
	for i, profile := range shape.Mappings(doc.Object["profiles"]) {
		p := profiler{doc: &doc, path: fmt.Sprintf("profiles[%d]", i), legacy: apiVersion != currentVersion}
		p.profile(profile)
	}
	return doc, nil
}

// dropAddresses removes fields that v1 no longer has.
func dropAddresses(doc *policy.Conversion) {
	for _, name := range []string{"healthzBindAddress", "metricsBindAddress"} {
		value, there := doc.Object[name]
		if !there {
			continue
		}
		delete(doc.Object, name)
		if text, _ := value.(string); text == "" || strings.HasSuffix(text, ":0") || text == "0" {
			doc.Add("", name+" was removed; it had no effect")
			continue
		}
		doc.Lose("", fmt.Sprintf("%s %q was removed: probes and metrics are served over HTTPS at the address set by --bind-address and --secure-port", name, value))
	}
}

// renewLock replaces lock types that kube-scheduler no longer supports.
func renewLock(doc *policy.Conversion) {
	election, _ := doc.Object["leaderElection"].(map[string]any)
	lock, _ := election["resourceLock"].(string)
	if lock == "" || lock == "leases" {
		return
	}
	election["resourceLock"] = "leases"
	doc.Add("leaderElection.resourceLock", fmt.Sprintf("was %q; only Leases still exist", lock))
}
