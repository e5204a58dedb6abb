// Package policyfile reads a policy from disk: the LoadPolicy with our own loader, the
// DeschedulerPolicy with upstream's. It also determines what the DeschedulerPolicy's
// profiles require of a process. Package settings translates the LoadPolicy for each part
// of Evenkeel.
package policyfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/registry"
)

// SetupPlugins sets up the framework's registry, which is global. It must be
// called before anything is decoded.
var SetupPlugins = sync.OnceFunc(func() {
	descheduler.SetupPlugins()
	plugin.Register(pluginregistry.PluginRegistry, registry.All)
	quieten(pluginregistry.PluginRegistry)
})

// quieten makes the DefaultEvictor log refused pods only at level 4, because plans check
// all pods of hot nodes with it. The DefaultEvictor uses the logger that is in effect
// when it is built.
func quieten(plugins pluginregistry.Registry) {
	plugin := plugins[defaultevictor.PluginName]
	build := plugin.PluginBuilder
	plugin.PluginBuilder = func(ctx context.Context, args runtime.Object, handle frameworktypes.Handle) (frameworktypes.Plugin, error) {
		return build(klog.NewContext(ctx, klog.FromContext(ctx).V(4)), args, handle)
	}
	plugins[defaultevictor.PluginName] = plugin
}

// Hash identifies the content of a policy file in logs and in the ledger: the
// first 12 hexadecimal digits of its SHA-256. It is empty without a file.
func Hash(content []byte) string {
	if len(content) == 0 {
		return ""
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:6])
}

// Read reads the policy file like Load and also returns its content. Without a file, the
// defaults apply.
func Read(path string, converters ...policy.Converter) (*policy.File, []byte, error) {
	if path == "" {
		return &policy.File{Load: policy.Default(kinds.All)}, nil, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, exit.Usagef("reading the policy: %w", err)
	}
	file, err := Load(path, content, converters...)
	return file, content, err
}

// Load reads the content of a policy file, in the current format or in a format that one
// of the converters knows.
func Load(name string, content []byte, converters ...policy.Converter) (_ *policy.File, err error) {
	defer Recover(name, &err)
	return policy.Load(name, content, kinds.All, converters...)
}

// document returns the file's DeschedulerPolicy as a tree whose plugins exist and
// accept their arguments.
func document(file *policy.File, registry pluginregistry.Registry) (_ map[string]any, err error) {
	defer Recover(NameOf(file), &err)
	text := file.Descheduler
	switch {
	case file.DefaultProfile:
		text = []byte(defaultProfile)
	case text == nil:
		return nil, Invalid(NameOf(file), nothingToRun(file))
	}
	tree, err := treeOf(NameOf(file), text)
	if err != nil {
		return nil, err
	}
	if wrong := append(pluginMistakes(file, tree, registry), dryRunMistakes(file, tree)...); len(wrong) > 0 {
		return nil, policy.NewError(NameOf(file), wrong)
	}
	return tree, nil
}

// treeOf parses a DeschedulerPolicy as policy.Load does. Upstream's decoder accepts null
// as a value of some fields, so it must not see the original text.
func treeOf(name string, text []byte) (map[string]any, error) {
	parts, err := policy.ReadParts(name, text)
	if err != nil {
		return nil, err
	}
	return parts[0].Object, nil
}

// decode passes a DeschedulerPolicy to upstream's loader, which requires a file path.
func decode(file *policy.File, tree map[string]any, registry pluginregistry.Registry) (_ *api.DeschedulerPolicy, err error) {
	defer Recover(NameOf(file), &err)
	text, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("writing the DeschedulerPolicy as JSON: %w", err)
	}
	path, remove, err := tempDocument(text)
	if err != nil {
		return nil, fmt.Errorf("handing the DeschedulerPolicy over: %w", err)
	}
	defer remove()
	loaded, err := descheduler.LoadPolicyConfig(path, nil, registry) // it uses no client if there are no priority classes
	if err != nil {
		return nil, Invalid(NameOf(file), strings.ReplaceAll(err.Error(), path, NameOf(file)))
	}
	return loaded, nil
}

// Invalid returns the error for an invalid policy. text has one problem per line.
func Invalid(name, text string) error {
	wrong := &policy.Error{File: name}
	for line := range strings.Lines(text) {
		wrong.Problems = append(wrong.Problems, strings.Join(strings.Fields(line), " "))
	}
	return wrong
}

// NameOf returns a policy's name for messages, even if it has no file.
func NameOf(file *policy.File) string {
	if file.Name == "" {
		return "policy"
	}
	return file.Name
}
