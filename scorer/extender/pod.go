package extender

import "errors"

var (
	podFields    = []string{"metadata", "spec", "status"}
	metaFields   = []string{"name", "namespace", "uid", "labels", "ownerReferences", "creationTimestamp"}
	ownerFields  = []string{"controller", "uid", "kind", "name"}
	specFields   = []string{"schedulerName", "containers", "initContainers", "overhead", "resources"}
	statusFields = []string{"nominatedNodeName"}
)

var errNotBool = errors.New("controller is neither true nor false")

// decodePod reads the pod; what needs all of it is left to settlePod.
func (r *request) decodePod() error {
	r.hasPod = r.scan.next() != 'n'
	r.acc = newResources()
	fields := fieldSet{names: podFields}
	return r.scan.object(func(key []byte) error {
		field, err := fields.match(key)
		if err != nil {
			return err
		}
		switch field {
		case 0:
			return in("metadata", r.decodeMeta())
		case 1:
			return in("spec", r.decodeSpec())
		case 2:
			return in("status", r.decodeStatus())
		}
		return r.scan.skip()
	})
}

func (r *request) decodeMeta() error {
	var labels hashLabels
	fields := fieldSet{names: metaFields}
	err := r.scan.object(func(key []byte) error {
		field, err := fields.match(key)
		if err != nil {
			return err
		}
		switch field {
		case 0:
			return r.readText(&r.pod.Name)
		case 1:
			return r.readText(&r.pod.Namespace)
		case 2:
			return r.readText(&r.pod.UID)
		case 3:
			return r.decodeLabels(&labels)
		case 4:
			return r.decodeOwners()
		case 5:
			return r.readText(&r.pod.Created)
		}
		return r.scan.skip()
	})
	r.pod.TemplateHash = labels.of(r.pod.OwnerKind)
	return err
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

func (r *request) decodeLabels(labels *hashLabels) error {
	return r.scan.object(func(key []byte) error {
		switch string(key) {
		case "pod-template-hash":
			labels.template = ""
			return r.readText(&labels.template)
		case "controller-revision-hash":
			labels.revision = ""
			return r.readText(&labels.revision)
		}
		return r.scan.skip()
	})
}

// decodeOwners keeps the first owner that is the controller.
func (r *request) decodeOwners() error {
	found := false
	return r.scan.array(func(int) error {
		owner, err := r.decodeOwner()
		if err != nil || found || !owner.controls {
			return err
		}
		found = true
		return r.keepOwner(owner)
	})
}

// ownerTokens is an owner reference before it is known to be the controller.
type ownerTokens struct {
	controls        bool
	uid, kind, name token
}

func (r *request) decodeOwner() (owner ownerTokens, err error) {
	fields := fieldSet{names: ownerFields}
	err = r.scan.object(func(key []byte) error {
		field, err := fields.match(key)
		if err != nil {
			return err
		}
		switch field {
		case 0:
			owner.controls, err = r.readBool()
			return err
		case 1:
			return r.readToken(&owner.uid)
		case 2:
			return r.readToken(&owner.kind)
		case 3:
			return r.readToken(&owner.name)
		}
		return r.scan.skip()
	})
	return owner, err
}

func (r *request) keepOwner(owner ownerTokens) (err error) {
	for _, part := range []struct {
		from token
		to   *string
	}{
		{owner.uid, &r.pod.OwnerUID}, {owner.kind, &r.pod.OwnerKind}, {owner.name, &r.pod.OwnerName},
	} {
		if part.from.end == 0 {
			continue
		}
		if *part.to, err = r.scan.text(part.from); err != nil {
			return err
		}
	}
	return nil
}

func (r *request) decodeSpec() error {
	fields := fieldSet{names: specFields}
	return r.scan.object(func(key []byte) error {
		field, err := fields.match(key)
		if err != nil {
			return err
		}
		switch field {
		case 0:
			return r.readText(&r.pod.SchedulerName)
		case 1:
			return in("containers", r.decodeContainers(r.acc.addContainer))
		case 2:
			return in("initContainers", r.decodeContainers(r.acc.addInit))
		case 3:
			return in("overhead", r.decodeAmounts(&r.acc.overhead))
		case 4:
			return in("resources", r.decodeResources(&r.acc.podRequests, &r.acc.podLimits))
		}
		return r.scan.skip()
	})
}

func (r *request) decodeStatus() error {
	fields := fieldSet{names: statusFields}
	return r.scan.object(func(key []byte) error {
		field, err := fields.match(key)
		if err != nil {
			return err
		}
		if field < 0 {
			return r.scan.skip()
		}
		return r.readText(&r.pod.NominatedNodeName)
	})
}

// readText reads a string or null, which leaves *to as it is.
func (r *request) readText(to *string) error {
	var t token
	if err := r.readToken(&t); err != nil || t.end == 0 {
		return err
	}
	text, err := r.scan.text(t)
	*to = text
	return err
}

// readToken reads a string or null, which leaves *to as it is.
func (r *request) readToken(to *token) error {
	isNull, err := r.scan.null()
	if isNull || err != nil {
		return err
	}
	*to, err = r.scan.str()
	return err
}

// readBool reads true, false or null, which counts as false.
func (r *request) readBool() (bool, error) {
	switch r.scan.next() {
	case 't':
		return true, r.scan.literal("true")
	case 'f':
		return false, r.scan.literal("false")
	case 'n':
		return false, r.scan.literal("null")
	}
	return false, errNotBool
}
