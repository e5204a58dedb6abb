package evenkeel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// MemoryLimit returns the memory limit of serve in the shipped Deployment, in bytes.
func MemoryLimit(ctx context.Context) (int64, error) {
	root, err := Root(ctx)
	if err != nil {
		return 0, err
	}
	content, err := os.ReadFile(filepath.Join(root, "deploy", "overlays", "serve", "deployment.yaml"))
	if err != nil {
		return 0, fmt.Errorf("reading the memory limit: %w", err)
	}
	var deployment appsv1.Deployment
	if err := yaml.Unmarshal(content, &deployment); err != nil {
		return 0, fmt.Errorf("reading the memory limit: %w", err)
	}
	for _, container := range deployment.Spec.Template.Spec.Containers {
		if limit, set := container.Resources.Limits[v1.ResourceMemory]; set {
			return limit.Value(), nil
		}
	}
	return 0, fmt.Errorf("reading the memory limit: the shipped Deployment sets none")
}
