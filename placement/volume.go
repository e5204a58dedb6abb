package placement

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/core/v1"
)

// volumes resolves claims to volumes.
type volumes struct {
	claims  listers.PersistentVolumeClaimLister
	volumes listers.PersistentVolumeLister
}

func newVolumes(factory informers.SharedInformerFactory) volumes {
	api := factory.Core().V1()
	return volumes{api.PersistentVolumeClaims().Lister(), api.PersistentVolumes().Lister()}
}

// of returns an identifier of the volume of the claim "namespace/name", and whether only
// one node at a time can mount the volume. The identifier is the same for all
// PersistentVolumes that represent the volume. Only one node can mount the volume if the
// claim requests write access on one node and the volume cannot be written on several
// nodes, even if several nodes can read it. If the volume is unknown, the claim alone
// decides. ReadWriteOncePod is left to kube-scheduler's own filter.
func (v *volumes) of(key string) (id string, oneNode bool) {
	namespace, name, _ := strings.Cut(key, "/")
	claim, err := v.claims.PersistentVolumeClaims(namespace).Get(name)
	if err != nil {
		return "", false
	}
	id, able := claim.Spec.VolumeName, claim.Spec.AccessModes
	if volume, err := v.volumes.Get(claim.Spec.VolumeName); err == nil {
		if csi := volume.Spec.CSI; csi != nil {
			id = csi.Driver + " " + csi.VolumeHandle
		}
		if len(volume.Spec.AccessModes) > 0 {
			able = volume.Spec.AccessModes
		}
	}
	return id, id != "" && slices.Contains(claim.Spec.AccessModes, v1.ReadWriteOnce) && !slices.Contains(able, v1.ReadWriteMany)
}

// refusedVolume returns which pod keeps a volume of the replacement on another node;
// empty if none does. kube-scheduler accepts the node nevertheless, and the kubelet then
// waits for the volume for as long as that pod runs.
func (s *Session) refusedVolume(p *podEntry, to *nodeEntry) string {
	snap := s.filters.snapshot
	for key := range claimKeys(p.pod) {
		id, oneNode := s.filters.volumes.of(key)
		if !oneNode {
			continue
		}
		for _, same := range s.sharing(id) {
			for _, user := range snap.claims[same] {
				if user != p && !user.moved && user.node != to {
					return fmt.Sprintf("one node at a time can mount the volume of claim %s, and pod %s/%s uses it on node %s",
						key, user.pod.Namespace, user.pod.Name, user.node.node.Name)
				}
			}
		}
	}
	return ""
}

// sharing returns the claims in use that refer to the volume with this
// identifier.
func (s *Session) sharing(id string) []string {
	if s.byVolume == nil {
		s.byVolume = map[string][]string{}
		for key := range s.filters.snapshot.claims {
			if of, oneNode := s.filters.volumes.of(key); oneNode {
				s.byVolume[of] = append(s.byVolume[of], key)
			}
		}
		for _, keys := range s.byVolume {
			slices.Sort(keys)
		}
	}
	return s.byVolume[id]
}
