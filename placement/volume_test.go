package placement

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

func modes(all ...v1.PersistentVolumeAccessMode) func(*v1.PersistentVolume) {
	return func(pv *v1.PersistentVolume) { pv.Spec.AccessModes = all }
}

func ofHandle(handle string) func(*v1.PersistentVolume) {
	return func(pv *v1.PersistentVolume) {
		pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: "disk.csi", VolumeHandle: handle}
	}
}

// A volume that only one node at a time can mount keeps a replacement off nodes without a pod that
// uses the volume, as long as another pod does.
func TestSharedVolumesKeepTheirPodsTogether(t *testing.T) {
	f := withFilters(t, Config{},
		boundClaim("once", v1.ReadWriteOnce), volume("once", modes(v1.ReadWriteOnce)),
		boundClaim("silent", v1.ReadWriteOnce), volume("silent"), // the volume has no modes
		boundClaim("many", v1.ReadWriteMany), volume("many", modes(v1.ReadWriteMany)),
		boundClaim("readers", v1.ReadOnlyMany), volume("readers", modes(v1.ReadOnlyMany)),
		boundClaim("able", v1.ReadWriteOnce), volume("able", modes(v1.ReadWriteOnce, v1.ReadWriteMany)),
		boundClaim("writer", v1.ReadWriteOnce), volume("writer", modes(v1.ReadWriteOnce, v1.ReadOnlyMany)),
		boundClaim("either", v1.ReadWriteOnce, v1.ReadOnlyMany), volume("either", modes(v1.ReadWriteOnce, v1.ReadOnlyMany)),
		boundClaim("reader", v1.ReadOnlyMany), volume("reader", modes(v1.ReadWriteOnce, v1.ReadOnlyMany)),
		boundClaim("disk-a", v1.ReadWriteOnce), volume("disk-a", modes(v1.ReadWriteOnce), ofHandle("disk")),
		boundClaim("disk-b", v1.ReadWriteOnce), volume("disk-b", modes(v1.ReadWriteOnce), ofHandle("disk")),
		boundClaim("pod", v1.ReadWriteOncePod), volume("pod", modes(v1.ReadWriteOncePod)),
	)
	other := func(name string) func(*v1.Pod) { return func(p *v1.Pod) { p.OwnerReferences = ownedBy("Job", name) } }
	for name, tc := range map[string]struct {
		claim string
		users []*v1.Pod // beside the pod
		want  string    // the refusal; empty if the destination accepts it
	}{
		"it alone": {claim: "once"},
		"a replica on its node": {claim: "once", users: []*v1.Pod{aPod("web-1", source, claim("once"))},
			want: "one node at a time can mount the volume of claim default/once, and pod default/web-1 uses it on node source"},
		"another owner's pod on its node": {claim: "once", users: []*v1.Pod{aPod("backup", source, claim("once"), other("backup"))},
			want: "one node at a time can mount the volume of claim default/once, and pod default/backup uses it on node source"},
		"a pod that terminates there": {claim: "once", users: []*v1.Pod{aPod("web-1", source, claim("once"), beingDeleted)},
			want: "one node at a time can mount the volume of claim default/once, and pod default/web-1 uses it on node source"},
		"a replica on the destination": {claim: "once", users: []*v1.Pod{aPod("web-1", destination, claim("once"))}},
		"a replica on a third node": {claim: "once", users: []*v1.Pod{aPod("web-1", "third", claim("once"))},
			want: "one node at a time can mount the volume of claim default/once, and pod default/web-1 uses it on node third"},
		"a volume that states no modes": {claim: "silent", users: []*v1.Pod{aPod("web-1", source, claim("silent"))},
			want: "one node at a time can mount the volume of claim default/silent, and pod default/web-1 uses it on node source"},
		"the same volume by another claim": {claim: "disk-a", users: []*v1.Pod{aPod("web-1", source, claim("disk-b"))},
			want: "one node at a time can mount the volume of claim default/disk-a, and pod default/web-1 uses it on node source"},
		"another volume":                 {claim: "once", users: []*v1.Pod{aPod("web-1", source, claim("disk-a"))}},
		"a claim of that name elsewhere": {claim: "once", users: []*v1.Pod{aPod("web-1", source, claim("once"), inNamespace("other"))}},
		"many may write":                 {claim: "many", users: []*v1.Pod{aPod("web-1", source, claim("many"))}},
		"many may read":                  {claim: "readers", users: []*v1.Pod{aPod("web-1", source, claim("readers"))}},
		"a volume that can do more":      {claim: "able", users: []*v1.Pod{aPod("web-1", source, claim("able"))}},
		"a writer of a volume that many may read": {claim: "writer", users: []*v1.Pod{aPod("web-1", source, claim("writer"))},
			want: "one node at a time can mount the volume of claim default/writer, and pod default/web-1 uses it on node source"},
		"a claim to write or to read": {claim: "either", users: []*v1.Pod{aPod("web-1", source, claim("either"))},
			want: "one node at a time can mount the volume of claim default/either, and pod default/web-1 uses it on node source"},
		"a reader of a volume that one may write": {claim: "reader", users: []*v1.Pod{aPod("web-1", source, claim("reader"))}},
		"ReadWriteOncePod is the filter's": {claim: "pod", users: []*v1.Pod{aPod("web-1", source, claim("pod"))},
			want: "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := aPod("web-0", source, claim(tc.claim))
			syncAll(t, f, []*v1.Node{aNode(source), aNode(destination), aNode("third")}, append([]*v1.Pod{pod}, tc.users...))
			s := f.Begin()
			defer s.Close()
			if got := s.Fits(pod, destination); got.OK != (tc.want == "") || got.Reason != tc.want {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
}

// Volumes that live and die with their pod are never shared.
func TestEphemeralVolumesAreNotShared(t *testing.T) {
	f := offline(t)
	pod := aPod("web-0", source, ephemeralVolume)
	syncAll(t, f, []*v1.Node{aNode(source), aNode(destination)}, []*v1.Pod{pod, aPod("web-1", source, ephemeralVolume)})
	s := f.Begin()
	defer s.Close()
	p, n := s.entry(pod), s.filters.snapshot.nodes[destination]
	if why := s.refusedElsewhere(p, n); why != "" {
		t.Errorf("refused: %s", why)
	}
}
