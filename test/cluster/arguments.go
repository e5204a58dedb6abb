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
	// metricResolution is the shortest that metrics-server accepts.
	metricResolution = "10s"
	// apiQPS and apiBurst keep the parts' own throttling out of tests.
	apiQPS, apiBurst = "500", "1000"
	// nodeMonitorGrace is long, because a loaded machine may delay kwok's Leases,
	// or a measurement may skip their renewals, and neither must make the nodes
	// count as lost.
	nodeMonitorGrace = 24 * time.Hour
)

// URL returns where a part listens: http://127.0.0.1:port for kwok and etcd,
// https for the others.
func (c *Cluster) URL(part Part) string { return c.urlOf(part) }

// UsageURL returns where kwok serves the usage of a node: as a kubelet's
// resource metrics and, in the same response, under node-exporter's names.
func (c *Cluster) UsageURL(node string) string { return c.urlOf(Kwok) + usagePath(node) }

// urlOf returns where a part listens.
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
			kubelets = "--kubelet-insecure-tls" // they sign their certificates themselves
		}
		return append(c.servingArguments(part),
			"--kubeconfig="+c.kubeconfigOf(part),
			"--kubelet-use-node-status-port",
			// Nodes with their own addresses name kwok's as the external one.
			"--kubelet-preferred-address-types=ExternalIP,InternalIP",
			kubelets,
			"--kubelet-request-timeout=5s",
			"--metric-resolution="+metricResolution,
		)
	default:
		return nil
	}
}

// servingArguments returns the arguments of parts that use the API server's
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
		// No client has such a certificate, but every part looks for this authority
		// and logs warnings without it.
		"--client-ca-file=" + c.file("ca.crt"),
		// The kubernetes Service must not point to loopback, and no pod runs
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
		// In megabytes: large enough never to rotate, because a rotated file
		// would hide requests from Audit.
		"--audit-log-maxsize=100000",
	}
}
