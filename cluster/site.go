package cluster

// Site describes where a node is, as far as that matters to its pods.
type Site struct {
	// Zone is the topology zone; empty if there is none.
	Zone string
	// Spot is true if the node may be reclaimed at any time.
	Spot bool
}

// zoneLabel is v1.LabelTopologyZone.
const zoneLabel = "topology.kubernetes.io/zone"

// spot holds the labels and values of nodes that may be reclaimed at any time: of
// Karpenter, EKS, GKE (two) and AKS.
var spot = map[string]string{
	"karpenter.sh/capacity-type": "spot", "eks.amazonaws.com/capacityType": "SPOT", "cloud.google.com/gke-spot": "true",
	"cloud.google.com/gke-preemptible": "true", "kubernetes.azure.com/scalesetpriority": "spot",
}

// Site derives the node's site from its labels.
func (n *Node) Site() Site {
	site := Site{Zone: n.Labels[zoneLabel]}
	for label, value := range spot {
		site.Spot = site.Spot || n.Labels[label] == value
	}
	return site
}
