package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/registry"
)

func loadShipped(t *testing.T) *policy.File {
	t.Helper()
	data, err := os.ReadFile("../policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file, err := policy.Load("policy.yaml", data, kinds.All)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestShippedPolicyStatesTheDefaults(t *testing.T) {
	if diff := cmp.Diff(policy.Default(kinds.All), loadShipped(t).Load); diff != "" {
		t.Errorf("policy.yaml (-defaults +file):\n%s", diff)
	}
}

// The shipped CronJob forbids two Jobs at once, because they would evict without knowing each
// other's moves.
func TestShippedCronJobRunsOneCycleAtATime(t *testing.T) {
	data, err := os.ReadFile("../deploy/overlays/cronjob/cronjob.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cron batchv1.CronJob
	if err := yaml.UnmarshalStrict(data, &cron); err != nil {
		t.Fatal(err)
	}
	if got := cron.Spec.ConcurrencyPolicy; got != batchv1.ForbidConcurrent {
		t.Errorf("concurrencyPolicy %q", got)
	}
}

// Upstream's own loader, which decodes plugin arguments strictly, accepts the shipped
// DeschedulerPolicy with our arguments.
func TestUpstreamLoadsTheShippedPolicy(t *testing.T) {
	descheduler.SetupPlugins()
	plugin.Register(pluginregistry.PluginRegistry, registry.All)

	path := filepath.Join(t.TempDir(), "descheduler.yaml")
	if err := os.WriteFile(path, loadShipped(t).Descheduler, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := descheduler.LoadPolicyConfig(path, fake.NewClientset(), pluginregistry.PluginRegistry)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Profiles) != 1 {
		t.Fatalf("%d profiles, want 1", len(got.Profiles))
	}
	profile := got.Profiles[0]
	if diff := cmp.Diff([]string{policy.DefaultStrategy}, profile.Plugins.Balance.Enabled); diff != "" {
		t.Errorf("balance plugins (-want +got):\n%s", diff)
	}
	for _, name := range append(profile.Plugins.Balance.Enabled, "DefaultEvictor") {
		if !configured(profile, name) {
			t.Errorf("plugin %s has no pluginConfig", name)
		}
	}
}

func configured(profile api.DeschedulerProfile, name string) bool {
	for _, config := range profile.PluginConfigs {
		if config.Name == name {
			return true
		}
	}
	return false
}
