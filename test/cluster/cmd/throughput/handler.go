package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/throughput"
)

// headerWithin bounds the wait for a request's header.
const headerWithin = 10 * time.Second

// handlerCommand returns the command that runs one of the handlers that decide nothing,
// in a separate process like Evenkeel.
func handlerCommand() *cobra.Command {
	var kind, listen string
	c := &cobra.Command{
		Use:    "handler",
		Short:  "Answer kube-scheduler and decide nothing",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE:   func(c *cobra.Command, _ []string) error { return serve(c.Context(), throughput.Handler(kind), listen) },
	}
	c.Flags().StringVar(&kind, "kind", string(throughput.Decoding), "decoding or echoing")
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address to listen on")
	return c
}

func serve(ctx context.Context, kind throughput.Handler, listen string) error {
	handler, err := throughput.NewHandler(kind)
	if err != nil {
		return err
	}
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("listening on %q: %w", listen, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerWithin}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

// startNeutral starts a handler that decides nothing.
func (s *stage) startNeutral(ctx context.Context, kind throughput.Handler) (*handler, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	listen, err := evenkeel.FreeAddress()
	if err != nil {
		return nil, err
	}
	name := "handler-" + string(kind)
	process, err := cluster.StartProcess(name, self, []string{"handler", "--kind", string(kind), "--listen", listen}, filepath.Join(s.Dir, name+".log"))
	if err != nil {
		return nil, err
	}
	s.OnClose(process.Stop)
	h := &handler{url: "http://" + listen, page: "http://" + listen + throughput.MetricsPath, metric: throughput.AskedMetric}
	return h, eventually(ctx, upWithin, name+" answers", func(ctx context.Context) (bool, error) {
		_, err := h.read(ctx)
		return err == nil, nil
	})
}
