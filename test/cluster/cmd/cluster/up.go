package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// upFlags are the flags of `up`.
type upFlags struct {
	nodes       int
	template    cluster.NodeTemplate
	extenders   []string
	requestSkew bool
	detach      bool
}

func upCommand(home *string) *cobra.Command {
	var flags upFlags
	command := &cobra.Command{
		Use:   "up",
		Short: "Build and start the cluster",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return up(c.Context(), instance{home: *home}, flags, c.OutOrStdout())
		},
	}
	f := command.Flags()
	f.IntVar(&flags.nodes, "nodes", 12, "number of nodes")
	f.StringVar(&flags.template.CPU, "cpu", "32", "CPU of a node")
	f.StringVar(&flags.template.Memory, "memory", "256Gi", "memory of a node")
	f.StringArrayVar(&flags.extenders, "extender", nil, "URL of an extender for kube-scheduler to ask (repeatable)")
	f.BoolVar(&flags.requestSkew, "request-skew", false, "prepare the workloads of the demo instead of empty nodes")
	f.BoolVar(&flags.detach, "detach", false, "return once the cluster is up and leave it running until `down`")
	return command
}

func up(ctx context.Context, i instance, flags upFlags, out io.Writer) error {
	binDir, err := cluster.DefaultBinDir(ctx)
	if err != nil {
		return err
	}
	// Before detaching, so that the progress of the first build is visible.
	if err := cluster.Build(ctx, binDir, out); err != nil {
		return err
	}
	if flags.detach {
		return i.detach(ctx, out)
	}
	release, err := i.claim()
	if err != nil {
		return err
	}
	defer release()

	options := cluster.Options{BinDir: binDir, StateDir: i.state()}
	for _, url := range flags.extenders {
		options.Extenders = append(options.Extenders, cluster.Extender(url))
	}
	c, err := cluster.Start(ctx, options)
	if err != nil {
		return err
	}
	if err := furnish(ctx, c, flags); err != nil {
		return errors.Join(err, c.Stop())
	}
	fmt.Fprintf(out, "The cluster is up.\n  export KUBECONFIG=%s\n", c.Kubeconfig())
	if err := i.announce(c.Kubeconfig()); err != nil {
		return errors.Join(err, c.Stop())
	}
	fmt.Fprintf(out, "Ctrl-C stops it (process %d).\n", os.Getpid())
	<-ctx.Done()
	return c.Stop()
}

func furnish(ctx context.Context, c *cluster.Cluster, flags upFlags) error {
	if flags.requestSkew {
		_, err := scenario.RequestSkew(ctx, c)
		return err
	}
	_, err := c.AddNodes(ctx, flags.nodes, flags.template)
	return err
}
