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
	"sigs.k8s.io/descheduler/pkg/utils"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// PriorityClass is a priority class that a profile uses as a threshold.
type PriorityClass struct {
	// Profile is the profile's name, Path the field of the document that names the class.
	Profile, Path, Name string
	// profile and config are the indices in Path.
	profile, config int
}

// Profiles decodes the DeschedulerPolicy document with upstream's own loader, which
// applies each plugin's defaults and validation. It needs no API server: thresholds that
// name a priority class keep the name and upstream's default value until
// ResolvePriorityClasses looks up the returned classes.
func Profiles(file *policy.File) (*api.DeschedulerPolicy, []PriorityClass, error) {
	tree, err := document(file, pluginregistry.PluginRegistry)
	if err != nil {
		return nil, nil, err
	}
	classes := takePriorityClasses(tree)
	profiles, err := decode(file, tree, pluginregistry.PluginRegistry)
	if err != nil {
		return nil, nil, err
	}
	for _, class := range classes {
		args, ours := profiles.Profiles[class.profile].PluginConfigs[class.config].Args.(*defaultevictor.DefaultEvictorArgs)
		if ours && args.PriorityThreshold != nil {
			args.PriorityThreshold.Name = class.Name
		}
	}
	return profiles, classes, nil
}

// takePriorityClasses removes the priority classes used as thresholds from a
// DeschedulerPolicy and returns them, because upstream's loader would look them up. It
// leaves a threshold that also has a value, so that upstream's loader rejects it.
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
			classes = append(classes, PriorityClass{Profile: inProfile, Path: path, Name: name, profile: i, config: j})
		}
	}
	return classes
}

// ResolvePriorityClasses looks up the priority classes that Profiles returned, and
// returns a copy of the profiles with their values as thresholds.
func ResolvePriorityClasses(
	ctx context.Context, client kubernetes.Interface, file *policy.File, profiles *api.DeschedulerPolicy, classes []PriorityClass,
) (*api.DeschedulerPolicy, error) {
	values := map[string]int32{}
	for _, class := range classes {
		invalid := func(what string) error {
			return Invalid(NameOf(file), fmt.Sprintf("profile %q: DefaultEvictor: priorityThreshold.name: %s", class.Profile, what))
		}
		found, err := client.SchedulingV1().PriorityClasses().Get(ctx, class.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil, invalid(fmt.Sprintf("there is no priority class %q", class.Name))
		case err != nil:
			return nil, fmt.Errorf("reading priority class %q: %w", class.Name, err)
		case found.Value > utils.SystemCriticalPriority:
			return nil, invalid(fmt.Sprintf("priority class %q has the value %d, which must be at most %d", class.Name, found.Value, utils.SystemCriticalPriority))
		}
		values[class.Name] = found.Value
	}
	profiles = profiles.DeepCopy()
	for args := range argsOf[*defaultevictor.DefaultEvictorArgs](profiles) {
		if threshold := args.PriorityThreshold; threshold != nil && threshold.Name != "" {
			args.PriorityThreshold = &api.PriorityThreshold{Value: new(values[threshold.Name])}
		}
	}
	return profiles, nil
}
