package app

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/descheduler/pkg/api/v1alpha2"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/policy"
)

// checkPriorityClasses looks up the priority classes that the policy names as a threshold. Upstream's loader does so later,
// but takes an API server that does not answer for a mistake in the policy.
func (a *App) checkPriorityClasses(ctx context.Context, file *policy.File) error {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	for profile, class := range priorityClasses(file) {
		_, err := a.client.SchedulingV1().PriorityClasses().Get(ctx, class, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return &policy.Error{File: nameOf(file), Problems: []string{
				fmt.Sprintf("profile %q: DefaultEvictor: priorityThreshold.name: there is no priority class %q", profile, class),
			}}
		}
		if err != nil {
			return fmt.Errorf("reading priority class %q: %w", class, err)
		}
	}
	return nil
}

// priorityClasses is the priority class that each profile names as its threshold. What cannot be decoded is left to
// upstream's loader to report.
func priorityClasses(file *policy.File) map[string]string {
	var document v1alpha2.DeschedulerPolicy
	if err := yaml.Unmarshal(file.Descheduler, &document); err != nil {
		return nil
	}
	classes := map[string]string{}
	for _, profile := range document.Profiles {
		for _, config := range profile.PluginConfigs {
			var args struct {
				PriorityThreshold struct {
					Value *int32 `json:"value"`
					Name  string `json:"name"`
				} `json:"priorityThreshold"`
			}
			if config.Name != defaultevictor.PluginName || json.Unmarshal(config.Args.Raw, &args) != nil {
				continue
			}
			if threshold := args.PriorityThreshold; threshold.Value == nil && threshold.Name != "" {
				classes[profile.Name] = threshold.Name
			}
		}
	}
	return classes
}
