package cluster

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
)

// Options sets what to start. The zero value plus BinDir is a whole cluster
// whose scheduler calls no extender.
type Options struct {
	// BinDir is where Build put the binaries.
	BinDir string
	// StateDir holds certificates, the database and logs. Empty: a temporary
	// folder that Stop removes. A folder that holds anything else is rejected.
	StateDir string
	// Extenders of kube-scheduler, in the order in which it calls them.
	Extenders []schedulerv1.Extender
	// PercentageOfNodesToScore of kube-scheduler; 0 leaves its adaptive
	// default.
	PercentageOfNodesToScore int32
	// SchedulerVerbosity is kube-scheduler's -v; from 10 it logs the scores of
	// each extender.
	SchedulerVerbosity int
	// WithoutMetricsServer leaves metrics-server stopped; Restart(ctx,
	// MetricsServer) starts it later.
	WithoutMetricsServer bool
	// NodeLease is how long a node's Lease lasts; it is renewed at a quarter of
	// that, which on a thousand nodes is noticeable work. 0: 40 seconds, as on
	// a kubelet.
	NodeLease time.Duration
	// PodPorts are pod ports that can be forwarded, each with the port of this
	// machine to which it leads, in any pod.
	PodPorts map[int]int
	// RealKubelets prepares for nodes of package kubelets, which are in other network
	// namespaces: the API server listens on all addresses, metrics-server scrapes by
	// HTTPS, a silent node is lost after Kubernetes' own grace period, and kwok does not
	// run.
	RealKubelets bool
}

// defaultNodeLease is a kubelet's.
const defaultNodeLease = 40 * time.Second

func (o Options) nodeLeaseSeconds() int { return int(cmp.Or(o.NodeLease, defaultNodeLease).Seconds()) }

func (o Options) validate() error {
	if o.BinDir == "" {
		return fmt.Errorf("options of the cluster: BinDir is empty")
	}
	if o.PercentageOfNodesToScore < 0 || o.PercentageOfNodesToScore > 100 {
		return fmt.Errorf("options of the cluster: PercentageOfNodesToScore %d is not within 0 to 100", o.PercentageOfNodesToScore)
	}
	if o.NodeLease != 0 && (o.NodeLease < time.Second || o.NodeLease >= nodeMonitorGrace) {
		return fmt.Errorf("options of the cluster: NodeLease %v is not within 1s to %v", o.NodeLease, nodeMonitorGrace)
	}
	return nil
}

// Extender returns the shipped kube-scheduler configuration for Evenkeel's
// extender, at the given URL.
func Extender(url string) schedulerv1.Extender {
	return schedulerv1.Extender{
		URLPrefix:        url,
		FilterVerb:       "filter",
		PrioritizeVerb:   "prioritize",
		Weight:           15,
		HTTPTimeout:      metav1.Duration{Duration: 200 * time.Millisecond},
		NodeCacheCapable: true,
		Ignorable:        true,
	}
}

// Part is one process of the cluster, named after its command.
type Part string

// The parts in the order in which they are started.
const (
	Etcd              Part = "etcd"
	APIServer         Part = "kube-apiserver"
	ControllerManager Part = "kube-controller-manager"
	Scheduler         Part = "kube-scheduler"
	Kwok              Part = "kwok"
	MetricsServer     Part = "metrics-server"
)

func parts() []Part {
	return []Part{Etcd, APIServer, ControllerManager, Scheduler, Kwok, MetricsServer}
}

// controlPlaneParts returns the link names of the multi-call binary.
func controlPlaneParts() []Part {
	return []Part{Etcd, APIServer, ControllerManager, Scheduler}
}
