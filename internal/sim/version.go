package sim

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
)

// version is the ReplicaSet of one version of an owner, named as a Deployment names it: by its own name and the hash of the
// template, which the pods have as a label.
type version struct {
	set, hash string
	uid       types.UID
}

// newVersion names a version of an owner, counted from 0.
func newVersion(owner string, uid types.UID, number int) version {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(owner + "/" + strconv.Itoa(number))) // it never fails
	hash := rand.SafeEncodeString(strconv.FormatUint(uint64(sum.Sum32()), 10))
	if number > 0 {
		uid += types.UID(fmt.Sprintf("-v%d", number+1))
	}
	return version{set: owner + "-" + hash, hash: hash, uid: uid}
}

// plain is what the plain pods of a version share: nobody changes it.
type plain struct {
	version
	labels map[string]string
	owners []metav1.OwnerReference
}

// version is the newest of an owner whose pods are plain.
func (w *world) version(owner int) *plain {
	o := &w.owners[owner]
	if o.plain == nil || o.plainAs != o.template {
		name := plainOwner(owner)
		v := newVersion(name, types.UID(name), o.template)
		o.plainAs, o.plain = o.template, &plain{
			version: v,
			labels:  map[string]string{"app": name, "pod-template-hash": v.hash},
			owners:  []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: v.set, UID: v.uid, Controller: new(true)}},
		}
	}
	return o.plain
}

func plainOwner(owner int) string { return "set-" + strconv.Itoa(owner) }

// versioned makes a recorded pod one of its owner's newest version. One of the version that was recorded stays as it was.
func (w *world) versioned(pod *v1.Pod, owner int) *v1.Pod {
	number := w.owners[owner].template
	if number == 0 || len(pod.OwnerReferences) == 0 {
		return pod
	}
	set := &pod.OwnerReferences[0]
	name := strings.TrimSuffix(set.Name, "-"+pod.Labels["pod-template-hash"])
	next := newVersion(name, set.UID, number)
	set.Name, set.UID = next.set, next.uid
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels["pod-template-hash"] = next.hash
	return pod
}
