package cluster

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

const (
	// nodeAnnotation marks the nodes that kwok simulates.
	nodeAnnotation, nodeAnnotationValue = "kwok.x-k8s.io/node", "fake"
	// metricResolution is the shortest interval that metrics-server accepts.
	metricResolution = "10s"
	// apiQPS and apiBurst are high enough to disable the parts' own throttling in practice.
	apiQPS, apiBurst = "500", "1000"
	// nodeMonitorGrace is long, because a loaded machine may delay kwok's Leases, and
	// measurements may skip their renewal. Neither must make nodes count as lost.
	nodeMonitorGrace = 24 * time.Hour
)

// URL returns a part's address: http://127.0.0.1:port for kwok and etcd, https for all
// others.
func (c *Cluster) URL(part Part) string { return c.urlOf(part) }

// UsageURL returns the address where kwok serves the usage of a node: a kubelet's
// resource metrics and, in the same response, metrics with node-exporter's names.
func (c *Cluster) UsageURL(node string) string { return c.urlOf(Kwok) + usagePath(node) }

// urlOf returns the address of a part.
func (c *Cluster) urlOf(part Part) string {
	scheme := "https"
	if part == Etcd || part == Kwok {
		scheme = "http"
	}
	return fmt.Sprintf("%s://%s:%d", scheme, loopback, c.ports[part])
}

func readyPath(part Part) string {
	switch part {
	case Etcd:
		return "/health"
	case ControllerManager, Kwok:
		return "/healthz"
	case MetricsServer:
		// Its /readyz waits for the first node's metrics.
		return "/livez"
	default:
		return "/readyz"
	}
}

func (c *Cluster) file(name string) string { return filepath.Join(c.dir, name) }

// arguments returns the command line of a part.
func (c *Cluster) arguments(part Part) []string {
	switch part {
	case Etcd:
		return []string{
			"--data-dir=" + c.file("etcd"),
			"--client-url=" + c.urlOf(Etcd),
			fmt.Sprintf("--peer-url=http://%s:%d", loopback, c.peerPort),
		}
	case APIServer:
		return c.apiServerArguments()
	case ControllerManager:
		arguments := append(c.servingArguments(part),
			"--kubeconfig="+c.kubeconfigOf(part),
			"--leader-elect=false",
			"--service-account-private-key-file="+c.file("service-account.key"),
			"--root-ca-file="+c.file("ca.crt"),
			"--kube-api-qps="+apiQPS, "--kube-api-burst="+apiBurst,
			"--concurrent-replicaset-syncs=20", "--concurrent-deployment-syncs=20", "--concurrent-namespace-syncs=20",
		)
		if !c.options.RealKubelets {
			arguments = append(arguments, "--node-monitor-grace-period="+nodeMonitorGrace.String())
		}
		return arguments
	case Scheduler:
		return append(c.servingArguments(part),
			"--config="+c.file("scheduler.yaml"),
			"--v="+strconv.Itoa(c.options.SchedulerVerbosity),
		)
	case Kwok:
		port := strconv.Itoa(c.ports[Kwok])
		return []string{
			"--kubeconfig=" + c.kubeconfigOf(Kwok),
			"--config=" + c.file("kwok.yaml"),
			"--manage-nodes-with-annotation-selector=" + nodeAnnotation + "=" + nodeAnnotationValue,
			"--node-ip=" + loopback, "--node-port=" + port,
			"--server-address=" + loopback + ":" + port,
			"--node-lease-duration-seconds=" + strconv.Itoa(c.options.nodeLeaseSeconds()),
		}
	case MetricsServer:
		kubelets := "--deprecated-kubelet-completely-insecure"
		if c.options.RealKubelets {
			kubelets = "--kubelet-insecure-tls" // real kubelets sign their own certificates
		}
		return append(c.servingArguments(part),
			"--kubeconfig="+c.kubeconfigOf(part),
			"--kubelet-use-node-status-port",
			// Nodes with their own addresses have kwok's as their ExternalIP.
			"--kubelet-preferred-address-types=ExternalIP,InternalIP",
			kubelets,
			"--kubelet-request-timeout=5s",
			"--metric-resolution="+metricResolution,
		)
	default:
		return nil
	}
}

// servingArguments returns the arguments of parts that are built with the API server's
// serving library.
func (c *Cluster) servingArguments(part Part) []string {
	return []string{
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(c.ports[part]),
		"--tls-cert-file=" + c.file("serving.crt"), "--tls-private-key-file=" + c.file("serving.key"),
		"--authentication-kubeconfig=" + c.kubeconfigOf(part),
		"--authorization-kubeconfig=" + c.kubeconfigOf(part),
	}
}

func (c *Cluster) apiServerArguments() []string {
	address := loopback
	if c.options.RealKubelets {
		address = "0.0.0.0"
	}
	return []string{
		"--etcd-servers=" + c.urlOf(Etcd),
		"--bind-address=" + address,
		"--secure-port=" + strconv.Itoa(c.ports[APIServer]),
		"--tls-cert-file=" + c.file("serving.crt"), "--tls-private-key-file=" + c.file("serving.key"),
		// No client has a certificate from this authority, but every part looks for it and
		// would log warnings without it.
		"--client-ca-file=" + c.file("ca.crt"),
		// The kubernetes Service must not point to a loopback address, and there are no pods
		// that would use it.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--token-auth-file=" + c.file("tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.file("service-account.pub"),
		"--service-account-signing-key-file=" + c.file("service-account.key"),
		"--requestheader-client-ca-file=" + c.file("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + c.file("front-proxy.crt"),
		"--proxy-client-key-file=" + c.file("front-proxy.key"),
		"--audit-policy-file=" + c.file("audit.yaml"),
		"--audit-log-path=" + c.auditLog(),
		// In megabytes. The log must never rotate, because Audit would not see requests in a
		// rotated file.
		"--audit-log-maxsize=100000",
	}
}
