package cluster

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	componentconfigv1 "k8s.io/component-base/config/v1alpha1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"
)

//go:embed files/*.yaml
var files embed.FS

// stateMarker marks a folder as safe to empty.
const stateMarker = ".evenkeel-test-cluster"

// openState makes the state folder, or empties the one of an earlier cluster. ours
// reports whether the folder is temporary.
func openState(dir string) (path string, ours bool, err error) {
	if dir == "" {
		path, err = os.MkdirTemp("", "evenkeel-cluster-")
		ours = true
	} else if path, err = filepath.Abs(dir); err == nil {
		err = emptyState(path)
	}
	if err != nil {
		return "", false, fmt.Errorf("making the state folder: %w", err)
	}
	if err := os.WriteFile(filepath.Join(path, stateMarker), nil, 0o644); err != nil {
		return "", false, fmt.Errorf("marking the state folder: %w", err)
	}
	return path, ours, nil
}

func emptyState(path string) error {
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0:
		return os.MkdirAll(path, 0o755)
	case err != nil:
		return err
	}
	if err := removeState(path); err != nil {
		return err
	}
	return os.MkdirAll(path, 0o755)
}

func removeState(path string) error {
	if _, err := os.Stat(filepath.Join(path, stateMarker)); err != nil {
		return fmt.Errorf("refusing to empty %q, which no cluster made: %w", path, err)
	}
	return os.RemoveAll(path)
}

func (c *Cluster) writeFiles() error {
	for _, name := range []string{"kwok.yaml", "audit.yaml"} {
		content, err := files.ReadFile("files/" + name)
		if err != nil {
			return fmt.Errorf("reading embedded %s: %w", name, err)
		}
		if name == "kwok.yaml" {
			content = append(content, forwards(c.options.PodPorts)...)
		}
		if err := os.WriteFile(c.file(name), content, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return c.writeSchedulerConfig()
}

// forwards returns kwok's configuration for forwarding ports of pods.
func forwards(ports map[int]int) (document string) {
	if len(ports) == 0 {
		return ""
	}
	document = "---\napiVersion: kwok.x-k8s.io/v1alpha1\nkind: ClusterPortForward\nmetadata: {name: pod-ports}\nspec:\n  forwards:\n"
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		document += fmt.Sprintf("  - {ports: [%d], target: {address: %s, port: %d}}\n", port, loopback, ports[port])
	}
	return document
}

func (c *Cluster) writeSchedulerConfig() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	leaderElect := false
	config := schedulerv1.KubeSchedulerConfiguration{
		TypeMeta:       metav1.TypeMeta{APIVersion: schedulerv1.SchemeGroupVersion.String(), Kind: "KubeSchedulerConfiguration"},
		LeaderElection: componentconfigv1.LeaderElectionConfiguration{LeaderElect: &leaderElect},
		ClientConnection: componentconfigv1.ClientConnectionConfiguration{
			Kubeconfig: c.kubeconfigOf(Scheduler), QPS: 500, Burst: 1000,
		},
		Extenders: c.options.Extenders,
	}
	if share := c.options.PercentageOfNodesToScore; share > 0 {
		config.PercentageOfNodesToScore = &share
	}
	if c.options.PackNodes {
		config.Profiles = []schedulerv1.KubeSchedulerProfile{packing()}
	}
	content, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("encoding the scheduler's configuration: %w", err)
	}
	if err := os.WriteFile(c.file("scheduler.yaml"), content, 0o644); err != nil {
		return fmt.Errorf("writing the scheduler's configuration: %w", err)
	}
	return nil
}

// packing returns a profile that prefers nodes on which more CPU and memory is requested.
func packing() schedulerv1.KubeSchedulerProfile {
	name := v1.DefaultSchedulerName
	return schedulerv1.KubeSchedulerProfile{
		SchedulerName: &name,
		PluginConfig: []schedulerv1.PluginConfig{{Name: "NodeResourcesFit", Args: runtime.RawExtension{Object: &schedulerv1.NodeResourcesFitArgs{
			TypeMeta: metav1.TypeMeta{APIVersion: schedulerv1.SchemeGroupVersion.String(), Kind: "NodeResourcesFitArgs"},
			ScoringStrategy: &schedulerv1.ScoringStrategy{
				Type:      schedulerv1.MostAllocated,
				Resources: []schedulerv1.ResourceSpec{{Name: string(v1.ResourceCPU), Weight: 1}, {Name: string(v1.ResourceMemory), Weight: 1}},
			},
		}}}},
	}
}
