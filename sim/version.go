package sim

import (
	"fmt"
	"hash/fnv"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
)

// version is the ReplicaSet of one version of an owner. Like a Deployment's ReplicaSet,
// it is named after the owner and the hash of the template, and its pods carry the hash
// as a label.
type version struct {
	set, hash string
	uid       types.UID
}

// newVersion returns a version of an owner. number counts from 0.
func newVersion(owner string, uid types.UID, number int) version {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(owner + "/" + strconv.Itoa(number))) // never fails
	hash := rand.SafeEncodeString(strconv.FormatUint(uint64(sum.Sum32()), 10))
	if number > 0 {
		uid += types.UID(fmt.Sprintf("-v%d", number+1))
	}
	return version{set: owner + "-" + hash, hash: hash, uid: uid}
}

// plain holds the objects shared by the plain pods of a version. They must not be
// changed.
type plain struct {
	version
	labels map[string]string
	owners []metav1.OwnerReference
}

func plainOwner(owner int) string { return "set-" + strconv.Itoa(owner) }
