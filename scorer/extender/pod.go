package extender

var (
	podFields    = []string{"metadata", "spec"}
	metaFields   = []string{"name", "namespace", "uid", "labels", "ownerReferences", "creationTimestamp"}
	ownerFields  = []string{"controller", "uid", "kind", "name"}
	specFields   = []string{"containers", "initContainers", "overhead", "resources", "volumes"}
	volumeFields = []string{"persistentVolumeClaim", "ephemeral"}
)

// readPod fills in a pod. It returns false if the value is null.
func (r *reader) readPod(pod *Pod) bool {
	given := r.scan.Next() != 'n'
	acc := newResources()
	for field := range r.members(podFields) {
		switch field {
		case "metadata":
			r.readMeta(pod)
		case "spec":
			r.readSpec(pod, &acc)
		}
	}
	acc.settle(pod)
	return given
}

func (r *reader) readMeta(pod *Pod) {
	var labels hashLabels
	for field := range r.members(metaFields) {
		switch field {
		case "name":
			pod.Name = r.scan.Text()
		case "namespace":
			pod.Namespace = r.scan.Text()
		case "uid":
			pod.UID = r.scan.Text()
		case "labels":
			r.readLabels(&labels)
		case "ownerReferences":
			r.readOwners(pod)
		case "creationTimestamp":
			pod.Created = r.scan.Text()
		}
	}
	pod.TemplateHash = labels.of(pod.OwnerKind)
}

// hashLabels are the labels that distinguish revisions of an owner.
type hashLabels struct{ template, revision string }

// of returns the label that the owner's kind sets.
func (h hashLabels) of(ownerKind string) string {
	if ownerKind == "StatefulSet" || ownerKind == "DaemonSet" {
		return h.revision
	}
	return h.template
}

func (r *reader) readLabels(labels *hashLabels) {
	for key := range r.scan.Object {
		switch string(key) {
		case "pod-template-hash":
			labels.template = r.scan.Text()
		case "controller-revision-hash":
			labels.revision = r.scan.Text()
		}
	}
}

// readOwners reads the owners and keeps the first one that is the controller.
func (r *reader) readOwners(pod *Pod) {
	found := false
	for range r.scan.Array {
		owner := r.readOwner()
		if owner.controls && !found {
			found = true
			pod.OwnerUID, pod.OwnerKind, pod.OwnerName = string(owner.uid), string(owner.kind), string(owner.name)
		}
	}
}

// ownerReference is an owner that is not yet known to be the controller.
type ownerReference struct {
	controls        bool
	uid, kind, name []byte
}

func (r *reader) readOwner() (owner ownerReference) {
	for field := range r.members(ownerFields) {
		switch field {
		case "controller":
			owner.controls = r.scan.Bool()
		case "uid":
			owner.uid = r.scan.Bytes()
		case "kind":
			owner.kind = r.scan.Bytes()
		case "name":
			owner.name = r.scan.Bytes()
		}
	}
	return owner
}

func (r *reader) readSpec(pod *Pod, acc *resources) {
	for field := range r.members(specFields) {
		switch field {
		case "containers":
			r.readContainers(acc.addContainer)
		case "initContainers":
			r.readContainers(acc.addInit)
		case "overhead":
			r.readAmounts(&acc.overhead)
		case "resources":
			r.readResources(&acc.podRequests, &acc.podLimits)
		case "volumes":
			r.readVolumes(pod)
		}
	}
}

func (r *reader) readVolumes(pod *Pod) {
	for range r.scan.Array {
		for range r.members(volumeFields) {
			pod.HasClaims = pod.HasClaims || r.scan.Next() != 'n'
		}
	}
}
