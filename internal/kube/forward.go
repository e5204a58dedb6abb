package kube

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// forwardTimeout is how long it may take to connect to a pod.
const forwardTimeout = 5 * time.Second

// Forward forwards a loopback port to a port of a pod, like kubectl port-forward, and
// calls use with the local address. The caller needs the permission to create
// pods/portforward. It forwards until use returns. If the connection is lost before that,
// the context passed to use ends.
func (c *Connection) Forward(ctx context.Context, namespace, pod string, port int, use func(ctx context.Context, address string) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	using, lost := context.WithCancel(ctx)
	defer lost()
	ready, ended := make(chan struct{}), make(chan error, 1)
	forwarder, err := c.forwarder(ctx, namespace, pod, port, ready)
	if err == nil {
		go func() {
			ended <- forwarder.ForwardPorts()
			lost()
		}()
		err = untilReady(ctx, ready, ended)
	}
	if err != nil {
		return fmt.Errorf("forwarding a port of pod %s/%s: %w", namespace, pod, err)
	}
	ports, err := forwarder.GetPorts()
	if err == nil {
		err = use(using, fmt.Sprintf("127.0.0.1:%d", ports[0].Local))
	}
	gone := using.Err() != nil && ctx.Err() == nil
	cancel()
	failed := <-ended
	if gone && failed != nil {
		return fmt.Errorf("forwarding a port of pod %s/%s: %w", namespace, pod, failed)
	}
	return err
}

// untilReady waits until a pod is connected. Dialing cannot be stopped; it ends when it
// fails or when the process ends.
func untilReady(ctx context.Context, ready <-chan struct{}, ended <-chan error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, forwardTimeout, fmt.Errorf("no answer within %v", forwardTimeout))
	defer cancel()
	select {
	case <-ready:
		return nil
	case err := <-ended:
		return cmp.Or(err, context.Canceled) // nothing else ends it without an error
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// forwarder makes a port forwarder that runs until the context ends. Like kubectl, it
// tries WebSockets before SPDY.
func (c *Connection) forwarder(ctx context.Context, namespace, pod string, port int, ready chan struct{}) (*portforward.PortForwarder, error) {
	address := c.Client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(c.REST)
	if err != nil {
		return nil, err
	}
	bySPDY := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport, Timeout: forwardTimeout}, http.MethodPost, address)
	byWebSocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(address, c.REST)
	if err != nil {
		return nil, err
	}
	dialer := portforward.NewFallbackDialerForStreaming(byWebSocket, bySPDY, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	return portforward.NewOnAddressesForStreaming(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf(":%d", port)}, ctx.Done(), ready, io.Discard, io.Discard)
}
