package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/kubelets"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// upFlags are the flags of `up`.
type upFlags struct {
	nodes       int
	template    cluster.NodeTemplate
	extenders   []string
	requestSkew bool
	kubelets    string
	detach      bool
}

// The values of --kubelets.
const (
	simulatedKubelets = "simulated"
	realKubelets      = "real"
)

// realNodes is the default number of nodes with real kubelets.
const realNodes = 3

func (f *upFlags) validate(set func(flag string) bool) error {
	switch f.kubelets {
	case simulatedKubelets:
		return nil
	case realKubelets:
	default:
		return fmt.Errorf("--kubelets %q is not allowed (allowed: %s, %s)", f.kubelets, simulatedKubelets, realKubelets)
	}
	for _, flag := range []string{"cpu", "memory", "request-skew"} {
		if set(flag) {
			return fmt.Errorf("--%s cannot be combined with --kubelets %s, whose nodes have a fixed size", flag, realKubelets)
		}
	}
	if !set("nodes") {
		f.nodes = realNodes
	}
	return kubelets.Unable()
}

func upCommand(home *string) *cobra.Command {
	var flags upFlags
	command := &cobra.Command{
		Use:   "up",
		Short: "Build and start the cluster",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := flags.validate(c.Flags().Changed); err != nil {
				return err
			}
			return up(c.Context(), instance{home: *home}, flags, c.OutOrStdout())
		},
	}
	f := command.Flags()
	f.IntVar(&flags.nodes, "nodes", 12, "number of nodes")
	f.StringVar(&flags.template.CPU, "cpu", "32", "CPU of a node")
	f.StringVar(&flags.template.Memory, "memory", "256Gi", "memory of a node")
	f.StringArrayVar(&flags.extenders, "extender", nil, "URL of an extender for kube-scheduler to ask (repeatable)")
	f.BoolVar(&flags.requestSkew, "request-skew", false, "prepare the workloads of the demo instead of empty nodes")
	f.StringVar(&flags.kubelets, "kubelets", simulatedKubelets, "simulated by kwok, or real: with containers, as root")
	f.BoolVar(&flags.detach, "detach", false, "return once the cluster is up and leave it running until `down`")
	return command
}

func up(ctx context.Context, i instance, flags upFlags, out io.Writer) error {
	binDir, err := cluster.DefaultBinDir(ctx)
	if err != nil {
		return err
	}
	if kubelets.Inside() {
		return run(ctx, i, binDir, flags, out)
	}
	// This happens before detaching, so that the progress of the first build is visible.
	if err := cluster.Build(ctx, binDir, out); err != nil {
		return err
	}
	if flags.kubelets == realKubelets {
		if err := cluster.BuildNodes(ctx, binDir, out); err != nil {
			return err
		}
	}
	if flags.detach {
		return i.detach(ctx, out)
	}
	release, err := i.claim()
	if err != nil {
		return err
	}
	defer release()
	if flags.kubelets == realKubelets {
		return enter(ctx, binDir, i)
	}
	return run(ctx, i, binDir, flags, out)
}

// enter runs this command again, inside a new site.
func enter(ctx context.Context, binDir string, i instance) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the command's own binary: %w", err)
	}
	command := append([]string{self}, os.Args[1:]...)
	code, err := kubelets.Enter(ctx, binDir, append(command, "--home="+i.home)...)
	if err == nil && code != 0 {
		err = fmt.Errorf("the cluster in its site of nodes ended with exit code %d", code)
	}
	return err
}

// run runs the cluster until the context ends.
func run(ctx context.Context, i instance, binDir string, flags upFlags, out io.Writer) error {
	options := cluster.Options{BinDir: binDir, StateDir: i.state(), RealKubelets: flags.kubelets == realKubelets}
	for _, url := range flags.extenders {
		options.Extenders = append(options.Extenders, cluster.Extender(url))
	}
	c, err := cluster.Start(ctx, options)
	if err != nil {
		return err
	}
	if err := furnish(ctx, c, binDir, flags); err != nil {
		return errors.Join(err, c.Stop())
	}
	usage := fmt.Sprintf("The cluster is up.\n  export KUBECONFIG=%s\n", c.Kubeconfig())
	if flags.kubelets == realKubelets {
		usage += "It has a network of its own. A shell in it:\n  " + kubelets.Shell() + "\n"
	}
	if err := i.announce(usage); err != nil {
		return errors.Join(err, c.Stop())
	}
	fmt.Fprintf(out, "%sCtrl-C stops it (process %d).\n", usage, os.Getpid())
	<-ctx.Done()
	return c.Stop()
}

func furnish(ctx context.Context, c *cluster.Cluster, binDir string, flags upFlags) error {
	if flags.kubelets == realKubelets {
		_, err := kubelets.Start(ctx, c, binDir, flags.nodes) // they end with the site
		return err
	}
	if flags.requestSkew {
		_, err := scenario.RequestSkew(ctx, c)
		return err
	}
	_, err := c.AddNodes(ctx, flags.nodes, flags.template)
	return err
}
