package main

import (
	"context"
	"fmt"
	"net/url"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

// etcdCommand runs a single-member etcd on loopback, without fsync, because its data need
// not outlive the test cluster.
func etcdCommand() *cobra.Command {
	var dataDir, clientURL, peerURL string
	command := &cobra.Command{
		Use:           "etcd",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return runEtcd(ctx, dataDir, clientURL, peerURL)
		},
	}
	command.Flags().StringVar(&dataDir, "data-dir", "", "folder of the database")
	command.Flags().StringVar(&clientURL, "client-url", "", "URL that clients connect to")
	command.Flags().StringVar(&peerURL, "peer-url", "", "URL for other members (there are none, but etcd listens)")
	return command
}

func runEtcd(ctx context.Context, dataDir, clientURL, peerURL string) error {
	client, err := url.Parse(clientURL)
	if err != nil {
		return fmt.Errorf("reading --client-url: %w", err)
	}
	peer, err := url.Parse(peerURL)
	if err != nil {
		return fmt.Errorf("reading --peer-url: %w", err)
	}
	config := embed.NewConfig()
	config.Dir = dataDir
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.LogLevel = "warn"
	config.UnsafeNoFsync = true
	config.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration
	server, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("starting etcd: %w", err)
	}
	defer server.Close()
	select {
	case <-ctx.Done():
		return nil
	case err := <-server.Err():
		return fmt.Errorf("running etcd: %w", err)
	}
}
