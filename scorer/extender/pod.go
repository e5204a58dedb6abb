package extender

var (
	podFields    = []string{"metadata", "spec", "status"}
	metaFields   = []string{"name", "namespace", "uid", "labels", "ownerReferences", "creationTimestamp"}
	ownerFields  = []string{"controller", "uid", "kind", "name"}
	specFields   = []string{"schedulerName", "containers", "initContainers", "overhead", "resources"}
	statusFields = []string{"nominatedNodeName"}
)

// readPod reads the pod; what needs all of it is left to settlePod.
func (r *request) readPod() {
	r.hasPod = r.scan.Next() != 'n'
	r.acc = newResources()
	for field := range r.members(podFields) {
		switch field {
		case "metadata":
			r.readMeta()
		case "spec":
			r.readSpec()
		case "status":
			for range r.members(statusFields) {
				r.pod.NominatedNodeName = r.scan.Text()
			}
		}
	}
}

func (r *request) readMeta() {
	var labels hashLabels
	for field := range r.members(metaFields) {
		switch field {
		case "name":
			r.pod.Name = r.scan.Text()
		case "namespace":
			r.pod.Namespace = r.scan.Text()
		case "uid":
			r.pod.UID = r.scan.Text()
		case "labels":
			r.readLabels(&labels)
		case "ownerReferences":
			r.readOwners()
		case "creationTimestamp":
			r.pod.Created = r.scan.Text()
		}
	}
	r.pod.TemplateHash = labels.of(r.pod.OwnerKind)
}

// hashLabels are the labels that tell revisions of an owner apart.
type hashLabels struct{ template, revision string }

// of returns the one that the owner's kind sets.
func (h hashLabels) of(ownerKind string) string {
	if ownerKind == "StatefulSet" || ownerKind == "DaemonSet" {
		return h.revision
	}
	return h.template
}

func (r *request) readLabels(labels *hashLabels) {
	for key := range r.scan.Object {
		switch string(key) {
		case "pod-template-hash":
			labels.template = r.scan.Text()
		case "controller-revision-hash":
			labels.revision = r.scan.Text()
		}
	}
}

// readOwners keeps the first owner that is the controller.
func (r *request) readOwners() {
	found := false
	for range r.scan.Array {
		owner := r.readOwner()
		if owner.controls && !found {
			found = true
			r.pod.OwnerUID, r.pod.OwnerKind, r.pod.OwnerName = string(owner.uid), string(owner.kind), string(owner.name)
		}
	}
}

// ownerReference is an owner before it is known to be the controller.
type ownerReference struct {
	controls        bool
	uid, kind, name []byte
}

func (r *request) readOwner() (owner ownerReference) {
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

func (r *request) readSpec() {
	for field := range r.members(specFields) {
		switch field {
		case "schedulerName":
			r.pod.SchedulerName = r.scan.Text()
		case "containers":
			r.readContainers(r.acc.addContainer)
		case "initContainers":
			r.readContainers(r.acc.addInit)
		case "overhead":
			r.readAmounts(&r.acc.overhead)
		case "resources":
			r.readResources(&r.acc.podRequests, &r.acc.podLimits)
		}
	}
}
