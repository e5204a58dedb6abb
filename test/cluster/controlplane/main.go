// Command controlplane is a whole Kubernetes control plane in one binary:
// called as (argv[0]) etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler or metrics-server, it runs that. This takes one link step
// instead of five, and the binary is small because they share their libraries.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	metricsserver "sigs.k8s.io/metrics-server/cmd/metrics-server/app"
)

func main() {
	var command *cobra.Command
	switch name := filepath.Base(os.Args[0]); name {
	case "etcd":
		command = etcdCommand()
	case "kube-apiserver":
		command = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		command = controllermanager.NewControllerManagerCommand()
	case "kube-scheduler":
		command = scheduler.NewSchedulerCommand()
	case "metrics-server":
		command = metricsserver.NewMetricsServerCommand(genericapiserver.SetupSignalHandler())
	default:
		fmt.Fprintf(os.Stderr, "controlplane: called as %q; link it as etcd, kube-apiserver, kube-controller-manager, kube-scheduler or metrics-server\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(command))
}
