package policy

// EvenkeelLoadName is the name of Evenkeel's own kube-scheduler plugin in a
// KubeSchedulerConfiguration.
const EvenkeelLoadName = "EvenkeelLoad"

// EvenkeelLoadArgs are the args of EvenkeelLoad.
type EvenkeelLoadArgs struct {
	// PolicyConfigFile is the policy file, as in --policy-config-file. Without
	// one the defaults apply.
	PolicyConfigFile string `json:"policyConfigFile"`
	// Namespace is where the evicting process keeps its ledger. Empty means this pod's namespace or, outside of a pod,
	// kube-system.
	Namespace string `json:"namespace"`
}
