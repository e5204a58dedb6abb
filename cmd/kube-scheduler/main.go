// Command kube-scheduler is the stock kube-scheduler with Evenkeel's scheduling compiled
// in as one plugin, registered as EvenkeelLoad and under the names of legacy plugins.
// Flags and configuration are kube-scheduler's own. A profile that enables none of these
// names places pods exactly as the stock kube-scheduler does.
package main

import (
	"context"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // as in the stock kube-scheduler
	_ "k8s.io/component-base/metrics/prometheus/version"
	fwk "k8s.io/kube-scheduler/framework"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/compat/process"
	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/scorer/plugin"
)

func main() { os.Exit(run()) }

func run() int {
	sides := plugin.NewSides(newSide, readLegacy)
	code := cli.Run(scheduler.NewSchedulerCommand(plugins(sides)...))
	sides.Wait()
	return code
}

// newSide makes the scheduling half that observes for all plugins with the same policy.
func newSide(ctx context.Context, config plugin.SideConfig) (plugin.Side, error) {
	return app.NewInside(ctx, config, compat.Convert)
}

// readLegacy reads the args of a legacy plugin.
func readLegacy(name string, args map[string]any) (plugin.Policy, error) {
	asked, err := process.ReadPlugin(name, args)
	return plugin.Policy(asked), err
}

// plugins registers the plugin under all its names.
func plugins(sides *plugin.Sides) []scheduler.Option {
	var options []scheduler.Option
	for _, name := range append(process.PluginNames(), plugin.EvenkeelLoad) {
		options = append(options, scheduler.WithPlugin(name, factory(sides, name)))
	}
	return options
}

// factory makes a plugin for each profile that enables the given name.
func factory(sides *plugin.Sides, name string) func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
	return func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		return sides.New(ctx, name, args, handle)
	}
}
