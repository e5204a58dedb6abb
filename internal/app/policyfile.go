package app

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"

	"github.com/evenkeel/evenkeel/internal/migration"
	"github.com/evenkeel/evenkeel/policy"
)

// readPolicy reads the policy file and returns its content too; without one the defaults hold.
func readPolicy(path string) (*policy.File, []byte, error) {
	if path == "" {
		return &policy.File{Load: policy.Default()}, nil, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, &UsageError{fmt.Errorf("reading the policy: %w", err)}
	}
	file, err := migration.Load(path, content)
	return file, content, err
}

// policyOf returns the policy that the options name, with its text: what is given has none.
func policyOf(options *Options) (*policy.File, []byte, error) {
	if options.Given != nil {
		return options.Given, nil, nil
	}
	file, content, err := readPolicy(options.PolicyFile)
	if err != nil {
		return nil, nil, err
	}
	return file, content, options.Marking.amend(file)
}

// deschedulerPolicy decodes the DeschedulerPolicy document by upstream's own loader, which takes a path, applies each
// plugin's defaults and validation and asks the API server for priority classes.
func deschedulerPolicy(file *policy.File, client kubernetes.Interface, registry pluginregistry.Registry) (*api.DeschedulerPolicy, error) {
	if file.Descheduler == nil {
		return nil, &policy.Error{File: nameOf(file), Problems: []string{"it has no DeschedulerPolicy document, so there is nothing to run"}}
	}
	path, remove, err := tempDocument(file.Descheduler)
	if err != nil {
		return nil, fmt.Errorf("handing the DeschedulerPolicy over: %w", err)
	}
	defer remove()
	loaded, err := descheduler.LoadPolicyConfig(path, client, registry)
	if err != nil {
		return nil, &policy.Error{File: nameOf(file), Problems: problems(strings.ReplaceAll(err.Error(), path, nameOf(file)))}
	}
	if err := checkProfiles(loaded, registry); err != nil {
		return nil, &policy.Error{File: nameOf(file), Problems: problems(err.Error())}
	}
	return loaded, nil
}

// checkProfiles finds, before anything starts, what the framework would only find while it is built.
func checkProfiles(p *api.DeschedulerPolicy, registry pluginregistry.Registry) error {
	var errs []error
	for _, profile := range p.Profiles {
		for _, name := range enabled(profile) {
			if _, ok := registry[name]; !ok {
				errs = append(errs, fmt.Errorf("profile %q enables plugin %q, which does not exist", profile.Name, name))
			} else if !configured(profile, name) {
				errs = append(errs, fmt.Errorf("profile %q enables plugin %q without an entry in pluginConfig", profile.Name, name))
			}
		}
	}
	return errors.Join(errs...)
}

func enabled(profile api.DeschedulerProfile) []string {
	p := profile.Plugins
	var names []string
	for _, set := range []api.PluginSet{p.PreSort, p.Sort, p.Deschedule, p.Balance, p.Filter, p.PreEvictionFilter} {
		names = append(names, set.Enabled...)
	}
	return names
}

func configured(profile api.DeschedulerProfile, name string) bool {
	for _, config := range profile.PluginConfigs {
		if config.Name == name {
			return true
		}
	}
	return false
}

// realUsageArgs are the arguments of every enabled RealUsageLowNodeUtilization.
func realUsageArgs(p *api.DeschedulerPolicy) []*policy.RealUsageLowNodeUtilizationArgs {
	var all []*policy.RealUsageLowNodeUtilizationArgs
	for _, profile := range p.Profiles {
		for _, name := range profile.Plugins.Balance.Enabled {
			for _, config := range profile.PluginConfigs {
				if args, ok := config.Args.(*policy.RealUsageLowNodeUtilizationArgs); ok && config.Name == name {
					all = append(all, args)
				}
			}
		}
	}
	return all
}

func nameOf(file *policy.File) string {
	if file.Name == "" {
		return "policy"
	}
	return file.Name
}

// problems makes each line of an error one problem.
func problems(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		list = append(list, strings.Join(strings.Fields(line), " "))
	}
	return list
}
