package policyfile

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// PriorityClass is a priority class that a profile names as its threshold.
type PriorityClass struct {
	// Profile names the profile; Path is where in the document it names the
	// class.
	Profile, Path, Name string
}

// PriorityClasses returns the priority classes that a policy names. Upstream's
// loader reports what cannot be decoded.
func PriorityClasses(file *policy.File) []PriorityClass {
	_, classes, err := withoutPriorityClasses(file.Descheduler)
	if err != nil {
		return nil
	}
	return classes
}

// CheckPriorityClasses looks up the priority classes that the policy names.
// Upstream's loader does so later, but reports an unreachable API server as a
// mistake in the policy.
func CheckPriorityClasses(ctx context.Context, client kubernetes.Interface, file *policy.File) error {
	for _, class := range PriorityClasses(file) {
		_, err := client.SchedulingV1().PriorityClasses().Get(ctx, class.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return Invalid(NameOf(file), fmt.Sprintf("profile %q: DefaultEvictor: priorityThreshold.name: there is no priority class %q", class.Profile, class.Name))
		}
		if err != nil {
			return fmt.Errorf("reading priority class %q: %w", class.Name, err)
		}
	}
	return nil
}

// OfflineProfiles decodes the DeschedulerPolicy like Profiles, without an API
// server. It leaves out the priority classes, which need the API server, and
// returns them.
func OfflineProfiles(file *policy.File) (*api.DeschedulerPolicy, []PriorityClass, error) {
	document, classes, err := withoutPriorityClasses(file.Descheduler)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the DeschedulerPolicy: %w", err)
	}
	if wrong := pluginMistakes(file, pluginregistry.PluginRegistry); len(wrong) > 0 { // at their places in the file
		return nil, nil, policy.NewError(NameOf(file), wrong)
	}
	offline := *file
	offline.Descheduler, offline.DeschedulerAt = document, -1
	profiles, err := Profiles(&offline, nil, pluginregistry.PluginRegistry)
	return profiles, classes, err
}

// withoutPriorityClasses returns a DeschedulerPolicy without the priority
// classes that it names as thresholds, and those classes. It keeps a threshold
// that also has a value, which upstream's loader refuses.
func withoutPriorityClasses(document []byte) ([]byte, []PriorityClass, error) {
	var tree map[string]any
	if err := yaml.Unmarshal(document, &tree); err != nil {
		return nil, nil, err
	}
	var classes []PriorityClass
	for i, profile := range shape.Mappings(tree["profiles"]) {
		for j, config := range shape.Mappings(profile["pluginConfig"]) {
			args, _ := config["args"].(map[string]any)
			threshold, _ := args["priorityThreshold"].(map[string]any)
			name, _ := threshold["name"].(string)
			if config["name"] != defaultevictor.PluginName || name == "" || len(threshold) > 1 {
				continue
			}
			delete(args, "priorityThreshold")
			inProfile, _ := profile["name"].(string)
			path := fmt.Sprintf("profiles[%d].pluginConfig[%d].args.priorityThreshold.name", i, j)
			classes = append(classes, PriorityClass{Profile: inProfile, Path: path, Name: name})
		}
	}
	if len(classes) == 0 {
		return document, nil, nil
	}
	changed, err := json.Marshal(tree)
	return changed, classes, err
}
