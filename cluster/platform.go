package cluster

// Platform is what programs are built for. A kubelet refuses pods for another operating
// system, and programs built for another architecture or Windows build do not start.
// kube-scheduler's filters check none of this.
type Platform struct{ OS, Arch, Build string }

// Platform returns the node's platform as stated by its kubelet's labels; empty if
// unknown.
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

// OSLabels and ArchLabels are the labels that state the platform, including their names
// from before Kubernetes 1.14.
var (
	OSLabels   = [2]string{"kubernetes.io/os", "beta.kubernetes.io/os"}
	ArchLabels = [2]string{"kubernetes.io/arch", "beta.kubernetes.io/arch"}
)

// BuildLabel states the Windows build of a node; other nodes lack it.
const BuildLabel = "node.kubernetes.io/windows-build"
