package schedulerconfig

import schedulerv1 "k8s.io/kube-scheduler/config/v1"

const (
	// Group is the API group of kube-scheduler's configuration.
	Group = "kubescheduler.config.k8s.io"
	// Kind is the kind of the document.
	Kind = "KubeSchedulerConfiguration"
)

// currentVersion is the version that kube-scheduler reads. versions holds those that it
// no longer reads.
var (
	currentVersion = schedulerv1.SchemeGroupVersion.String()
	versions       = []string{Group + "/v1beta1", Group + "/v1beta2", Group + "/v1beta3"}
)
