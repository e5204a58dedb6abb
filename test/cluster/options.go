package cluster

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
)

// Options defines what to start. The zero value with BinDir set starts a whole cluster
// whose scheduler calls no extender.
type Options struct {
	// BinDir is the folder into which Build has put the binaries.
	BinDir string
	// StateDir is the folder for certificates, the database and logs. If it is empty, Start
	// makes a temporary folder, which Stop removes. A folder that contains anything else is
	// rejected.
	StateDir string
	// Extenders lists kube-scheduler's extenders in the order in which it calls them.
	Extenders []schedulerv1.Extender
	// PercentageOfNodesToScore is kube-scheduler's setting; 0 means its adaptive default.
	PercentageOfNodesToScore int32
	// PackNodes makes kube-scheduler prefer full nodes (MostAllocated).
	PackNodes bool
	// SchedulerVerbosity is kube-scheduler's -v. From level 10 on, it logs the scores of
	// each extender.
	SchedulerVerbosity int
	// WithoutMetricsServer does not start metrics-server. Restart(ctx, MetricsServer) starts
	// it later.
	WithoutMetricsServer bool
	// NodeLease is the duration of a node's Lease; 0 means 40 seconds, as for a kubelet.
	// Leases are renewed after a quarter of it, which takes noticeable work with a thousand
	// nodes.
	NodeLease time.Duration
	// PodPorts maps ports that can be forwarded, in any pod, to ports of this machine.
	PodPorts map[int]int
	// RealKubelets prepares the cluster for nodes of package kubelets, which are in other
	// network namespaces: the API server listens on all addresses, metrics-server scrapes
	// over HTTPS, a node that does not report is lost after Kubernetes' own grace period,
	// and kwok does not run.
	RealKubelets bool
}

// defaultNodeLease is a kubelet's default.
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

// Extender returns the shipped kube-scheduler configuration of Evenkeel's extender with
// the given URL.
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

// The parts, in the order in which they are started.
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

// controlPlaneParts returns the names of the links to the multi-call binary.
func controlPlaneParts() []Part {
	return []Part{Etcd, APIServer, ControllerManager, Scheduler}
}
