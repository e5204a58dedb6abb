package throughput

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	componentconfigv1 "k8s.io/component-base/config/v1alpha1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/test/cluster"
)

const (
	// schedulerQPS is more than kube-scheduler can reach, so that its own throttling does
	// not affect the measurement.
	schedulerQPS = 5000
	// extenderTimeout is longer than in the shipped configuration, so that no answer is
	// dropped on a busy machine.
	extenderTimeout = 10 * time.Second
	// pluginName and extenderWeight are the values in the shipped configurations.
	pluginName     = "EvenkeelLoad"
	extenderWeight = 15
	// ManagedResource is a resource that no pod requests.
	ManagedResource v1.ResourceName = "evenkeel.io/steered"

	// LeaseNamespace is the namespace of the Lease that kube-scheduler needs before it
	// begins.
	LeaseNamespace = metav1.NamespaceSystem
	// LeaseName is the name of that Lease.
	LeaseName = "kube-scheduler"
)

// SchedulerConfig holds the inputs of kube-scheduler's configuration.
type SchedulerConfig struct {
	Variant    Variant
	Kubeconfig string
	// HandlerURL is the URL of the variant's handler, if it has one. Files is the folder
	// with the certificates for a secure handler.
	HandlerURL, Files string
	// PolicyFile and Namespace are settings of the plugin.
	PolicyFile, Namespace string
}

// YAML returns the configuration file. kube-scheduler waits for its Lease, so that pods
// can be created before it places the first one. A kube-scheduler that is paused instead
// needs no Lease, and places the pods that name its variant.
func (c SchedulerConfig) YAML() ([]byte, error) {
	elect := !c.Variant.SideBySide
	config := schedulerv1.KubeSchedulerConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: schedulerv1.SchemeGroupVersion.String(), Kind: "KubeSchedulerConfiguration"},
		LeaderElection: componentconfigv1.LeaderElectionConfiguration{
			LeaderElect: &elect, ResourceNamespace: LeaseNamespace, ResourceName: LeaseName,
			RetryPeriod: metav1.Duration{Duration: time.Second},
		},
		ClientConnection: componentconfigv1.ClientConnectionConfiguration{
			Kubeconfig: c.Kubeconfig, QPS: schedulerQPS, Burst: schedulerQPS,
		},
		Extenders: c.extenders(),
	}
	profile, err := c.profile()
	if err != nil {
		return nil, err
	}
	config.Profiles = []schedulerv1.KubeSchedulerProfile{profile}
	content, err := yaml.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encoding the configuration of variant %q: %w", c.Variant.Name, err)
	}
	return content, nil
}

func (c SchedulerConfig) extenders() []schedulerv1.Extender {
	if c.Variant.Handler == NoHandler {
		return nil
	}
	e := cluster.Extender(c.HandlerURL)
	e.HTTPTimeout = metav1.Duration{Duration: extenderTimeout}
	if c.Variant.Secure {
		e.EnableHTTPS = true
		e.TLSConfig = &schedulerv1.ExtenderTLSConfig{
			CAFile: filepath.Join(c.Files, "ca.crt"), CertFile: filepath.Join(c.Files, "client.crt"), KeyFile: filepath.Join(c.Files, "client.key"),
		}
	}
	if c.Variant.PrioritizeAlone {
		e.FilterVerb = ""
	}
	if c.Variant.Managed {
		e.ManagedResources = []schedulerv1.ExtenderManagedResource{{Name: string(ManagedResource), IgnoredByScheduler: true}}
	}
	return []schedulerv1.Extender{e}
}

func (c SchedulerConfig) profile() (schedulerv1.KubeSchedulerProfile, error) {
	name := c.Variant.SchedulerName()
	profile := schedulerv1.KubeSchedulerProfile{SchedulerName: &name}
	if !c.Variant.Plugin {
		return profile, nil
	}
	args, err := json.Marshal(map[string]string{"policyConfigFile": c.PolicyFile, "namespace": c.Namespace})
	if err != nil {
		return profile, fmt.Errorf("encoding the plugin's arguments: %w", err)
	}
	weight := int32(extenderWeight)
	profile.Plugins = &schedulerv1.Plugins{MultiPoint: schedulerv1.PluginSet{Enabled: []schedulerv1.Plugin{{Name: pluginName, Weight: &weight}}}}
	profile.PluginConfig = []schedulerv1.PluginConfig{{Name: pluginName, Args: runtime.RawExtension{Raw: args}}}
	return profile, nil
}
