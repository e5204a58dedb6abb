package cluster

// Platform is what programs are built for. A kubelet refuses pods of another
// operating system, and what was built for another architecture, or for another
// build of Windows, does not start; no filter of kube-scheduler looks at these.
type Platform struct{ OS, Arch, Build string }

// Platform returns the node's platform, as its kubelet labels it; empty where
// nothing is known.
func (n *Node) Platform() Platform { return PlatformOf(n.Labels) }

// PlatformOf returns the platform that a node's labels state.
func PlatformOf(labels map[string]string) Platform {
	first := func(keys [2]string) string {
		if value := labels[keys[0]]; value != "" {
			return value
		}
		return labels[keys[1]]
	}
	return Platform{first(OSLabels), first(ArchLabels), labels[BuildLabel]}
}

// OSLabels and ArchLabels are the labels of a platform, and what they were called
// before Kubernetes 1.14.
var (
	OSLabels   = [2]string{"kubernetes.io/os", "beta.kubernetes.io/os"}
	ArchLabels = [2]string{"kubernetes.io/arch", "beta.kubernetes.io/arch"}
)

// BuildLabel is the build of Windows that a node runs; others lack it.
const BuildLabel = "node.kubernetes.io/windows-build"
