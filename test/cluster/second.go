package cluster

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Second is another API server that uses the same etcd as the parts' API server.
type Second struct {
	process *Process
	url     string
}

// StartSecond starts a second API server and waits until it is ready. It accepts the same
// credentials and has the same certificate.
func (c *Cluster) StartSecond(ctx context.Context) (*Second, error) {
	const name = "second-kube-apiserver"
	port, err := FreePort()
	if err != nil {
		return nil, fmt.Errorf("starting a second API server: %w", err)
	}
	args := c.apiServerArguments()
	for i, arg := range args {
		switch flag, _, _ := strings.Cut(arg, "="); flag {
		case "--secure-port":
			args[i] = fmt.Sprintf("%s=%d", flag, port)
		case "--audit-log-path":
			args[i] = flag + "=" + c.file("second-audit.log")
		}
	}
	process, err := StartProcess(name, filepath.Join(c.options.BinDir, string(APIServer)), args, c.file(name+".log"))
	if err != nil {
		return nil, err
	}
	s := &Second{process: process, url: fmt.Sprintf("https://%s:%d", loopback, port)}
	err = wait.PollUntilContextTimeout(ctx, pollEvery, readyWithin, true, func(ctx context.Context) (bool, error) {
		if process.Ended() {
			return false, process.Failure()
		}
		_, status, err := c.get(ctx, s.url+readyPath(APIServer))
		return err == nil && status == http.StatusOK, nil
	})
	if err != nil {
		process.Kill()
		return nil, fmt.Errorf("waiting for the second API server: %w", err)
	}
	return s, nil
}

// URL returns the server's address.
func (s *Second) URL() string { return s.url }

// Stop stops the server. Losing requests does not matter.
func (s *Second) Stop() { s.process.StopWithin(drainGrace) }
