// Package policyfile reads a policy from disk: the LoadPolicy by our own
// loader, the DeschedulerPolicy by upstream's. It determines what the latter's
// profiles require of a process; package settings translates the former for
// each room.
package policyfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/migration"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/realusage"
	"github.com/evenkeel/evenkeel/usage/kinds"
)

// SetupPlugins sets up the framework's registry, which is global. It must be
// called before anything is decoded.
var SetupPlugins = sync.OnceFunc(func() {
	descheduler.SetupPlugins()
	realusage.Register(pluginregistry.PluginRegistry, func() realusage.Deps { return realusage.Deps{} })
	quieten(pluginregistry.PluginRegistry)
})

// quieten makes the DefaultEvictor log at level 4 that it refuses a pod: plans
// ask it about all pods of hot nodes. It logs by the logger that it was built
// with.
func quieten(registry pluginregistry.Registry) {
	plugin := registry[defaultevictor.PluginName]
	build := plugin.PluginBuilder
	plugin.PluginBuilder = func(ctx context.Context, args runtime.Object, handle frameworktypes.Handle) (frameworktypes.Plugin, error) {
		return build(klog.NewContext(ctx, klog.FromContext(ctx).V(4)), args, handle)
	}
	registry[defaultevictor.PluginName] = plugin
}

// Hash identifies the content of a policy file in logs and in the ledger: the
// first 12 hexadecimal digits of its SHA-256. It is empty for no file.
func Hash(content []byte) string {
	if len(content) == 0 {
		return ""
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:6])
}

// Read reads the policy file and also returns its content; without one the
// defaults apply.
func Read(path string) (*policy.File, []byte, error) {
	if path == "" {
		return &policy.File{Load: policy.Default(kinds.All)}, nil, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, exit.Usagef("reading the policy: %w", err)
	}
	file, err := migration.Load(path, content, kinds.All)
	return file, content, err
}

// Profiles decodes the DeschedulerPolicy document by upstream's own loader,
// which takes a path, applies each plugin's defaults and validation and asks
// the API server for priority classes.
func Profiles(file *policy.File, client kubernetes.Interface, registry pluginregistry.Registry) (*api.DeschedulerPolicy, error) {
	document := file.Descheduler
	switch {
	case file.DefaultProfile:
		document = []byte(defaultProfile)
	case document == nil:
		return nil, Invalid(NameOf(file), nothingToRun(file))
	}
	if wrong := pluginMistakes(file, registry); len(wrong) > 0 {
		return nil, policy.NewError(NameOf(file), wrong)
	}
	path, remove, err := tempDocument(document)
	if err != nil {
		return nil, fmt.Errorf("handing the DeschedulerPolicy over: %w", err)
	}
	defer remove()
	loaded, err := descheduler.LoadPolicyConfig(path, client, registry)
	if err != nil {
		return nil, Invalid(NameOf(file), strings.ReplaceAll(err.Error(), path, NameOf(file)))
	}
	if err := checkProfiles(loaded); err != nil {
		return nil, Invalid(NameOf(file), err.Error())
	}
	return loaded, nil
}

// checkProfiles reports, before anything starts, plugins without configuration,
// which the framework would only report while it is built.
func checkProfiles(p *api.DeschedulerPolicy) error {
	var errs []error
	for i := range p.Profiles {
		profile := &p.Profiles[i]
		for _, name := range enabled(profile) {
			if _, configured := policy.ArgsOf(profile, name); !configured {
				errs = append(errs, fmt.Errorf("profile %q enables plugin %q without an entry in pluginConfig", profile.Name, name))
			}
		}
	}
	return errors.Join(errs...)
}

func enabled(profile *api.DeschedulerProfile) []string {
	p := profile.Plugins
	return slices.Concat(p.PreSort.Enabled, p.Sort.Enabled, p.Deschedule.Enabled, p.Balance.Enabled, p.Filter.Enabled, p.PreEvictionFilter.Enabled)
}

// Invalid returns the error of an invalid policy, with one problem per line of
// the text.
func Invalid(name, text string) error {
	wrong := &policy.Error{File: name}
	for line := range strings.Lines(text) {
		wrong.Problems = append(wrong.Problems, strings.Join(strings.Fields(line), " "))
	}
	return wrong
}

// NameOf returns the name of a policy in messages, even if it has no file.
func NameOf(file *policy.File) string {
	if file.Name == "" {
		return "policy"
	}
	return file.Name
}
