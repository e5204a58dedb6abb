package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned"
)

// clientQPS is high enough to disable client-go's own throttling in practice.
const clientQPS = 1000

// Cluster is a running local cluster.
type Cluster struct {
	options Options
	dir     string
	ports   map[Part]int
	// peerPort is the port of etcd's listener for peers, which is not used.
	peerPort int
	caPEM    []byte
	// removeDir is true if this Cluster made the state folder and must remove it.
	removeDir bool

	config  *rest.Config
	client  kubernetes.Interface
	metrics metricsclient.Interface
	http    *http.Client

	// mu guards processes and the scheduler's extenders in options.
	mu        sync.Mutex
	processes map[Part]*Process

	stopOnce  sync.Once
	stopError error
}

// Start starts a cluster without nodes. It returns when every part is ready, which takes
// 2 to 10 seconds. The cluster runs until Stop is called or ctx is done. If Start fails,
// nothing is left running.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	c, err := prepare(options)
	if err != nil {
		return nil, err
	}
	if err := c.startAll(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	context.AfterFunc(ctx, func() { _ = c.Stop() })
	return c, nil
}

// prepare writes all files that the parts read.
func prepare(options Options) (*Cluster, error) {
	binDir, err := filepath.Abs(options.BinDir)
	if err != nil {
		return nil, fmt.Errorf("resolving the folder of binaries: %w", err)
	}
	options.BinDir = binDir
	dir, ours, err := openState(options.StateDir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: options, dir: dir, removeDir: ours, ports: map[Part]int{}, processes: map[Part]*Process{}}
	ports, err := freePorts(len(parts()) + 1)
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	for i, part := range parts() {
		c.ports[part] = ports[i]
	}
	c.peerPort = ports[len(parts())]
	if c.caPEM, err = writePKI(dir); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	if err := errors.Join(c.writeAccess(newUsers()), c.writeFiles(), c.connect()); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	config.QPS, config.Burst = clientQPS, clientQPS
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if c.metrics, err = metricsclient.NewForConfig(config); err != nil {
		return fmt.Errorf("making a metrics client: %w", err)
	}
	if c.http, err = rest.HTTPClientFor(config); err != nil {
		return fmt.Errorf("making an HTTP client: %w", err)
	}
	c.config = config
	return nil
}

func (c *Cluster) startAll(ctx context.Context) error {
	// The remaining parts need the API server but not each other, so they are started
	// together.
	var together []Part
	for _, part := range parts() {
		if part == MetricsServer && c.options.WithoutMetricsServer || part == Kwok && c.options.RealKubelets {
			continue
		}
		if err := c.launch(part); err != nil {
			return err
		}
		if part != Etcd && part != APIServer {
			together = append(together, part)
			continue
		}
		if err := c.waitReady(ctx, part); err != nil {
			return err
		}
	}
	if err := c.registerMetricsAPI(ctx); err != nil {
		return err
	}
	for _, part := range together {
		if err := c.waitReady(ctx, part); err != nil {
			return err
		}
	}
	return c.waitServiceAccount(ctx, "default")
}

// Stop stops the parts in reverse order and removes the state folder if the cluster made
// it. It may be called several times, also concurrently; every call waits until the
// cluster has stopped.
func (c *Cluster) Stop() error {
	c.stopOnce.Do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		var errs []error
		for _, part := range slices.Backward(parts()) {
			switch p := c.processes[part]; {
			case p == nil:
			case part == APIServer: // draining watches may take long, and losing requests does not matter
				p.StopWithin(drainGrace)
			default:
				errs = append(errs, p.Stop())
			}
		}
		if c.removeDir {
			errs = append(errs, removeState(c.dir))
		}
		c.stopError = errors.Join(errs...)
	})
	return c.stopError
}

// Client returns a client with the administrator's permissions and without client-side
// throttling.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// MetricsClient returns a client that reads metrics.k8s.io as the administrator.
func (c *Cluster) MetricsClient() metricsclient.Interface { return c.metrics }

// Config returns a copy of the administrator's client configuration.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// StateDir returns the folder with certificates, kubeconfig files, logs and the database.
func (c *Cluster) StateDir() string { return c.dir }

// LogPath returns the log file of a part.
func (c *Cluster) LogPath(part Part) string { return filepath.Join(c.dir, string(part)+".log") }

// Metrics returns a part's current /metrics page.
func (c *Cluster) Metrics(ctx context.Context, part Part) (string, error) {
	body, status, err := c.get(ctx, c.urlOf(part)+"/metrics")
	if err != nil {
		return "", fmt.Errorf("reading metrics of %s: %w", part, err)
	}
	if status != http.StatusOK {
		return "", fmt.Errorf("reading metrics of %s: status %d: %s", part, status, body)
	}
	return body, nil
}

func (c *Cluster) get(ctx context.Context, url string) (body string, status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", 0, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return string(content), response.StatusCode, err
}
