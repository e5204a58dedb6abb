package policyfile

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// PriorityClass is a priority class that a profile uses as its threshold.
type PriorityClass struct {
	// Profile is the name of the profile, Path the field of the document that names the
	// class.
	Profile, Path, Name string
}

// CheckPriorityClasses looks up the priority classes that the policy names.
// Upstream's loader does so later, but reports an unreachable API server as an
// error in the policy.
func CheckPriorityClasses(ctx context.Context, client kubernetes.Interface, file *policy.File, classes []PriorityClass) error {
	for _, class := range classes {
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

// OfflineProfiles decodes the DeschedulerPolicy like Profiles, but without an
// API server. It leaves out the priority classes, which need the API server,
// and returns them.
func OfflineProfiles(file *policy.File) (*api.DeschedulerPolicy, []PriorityClass, error) {
	tree, err := document(file, pluginregistry.PluginRegistry)
	if err != nil {
		return nil, nil, err
	}
	classes := takePriorityClasses(tree)
	profiles, err := decode(file, tree, nil, pluginregistry.PluginRegistry)
	return profiles, classes, err
}

// takePriorityClasses removes the priority classes used as thresholds from a
// DeschedulerPolicy, and returns them. It keeps a threshold that also has a
// value, which upstream's loader rejects.
func takePriorityClasses(tree map[string]any) (classes []PriorityClass) {
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
	return classes
}
