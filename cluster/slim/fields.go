package slim

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
)

// message lists the fields of a protobuf message that are dropped, by their numbers in the
// API's generated.proto. All other fields are kept, including those that this version does
// not know.
type message struct {
	drop   numbers
	within map[protowire.Number]*message
	// dropIf holds fields that are dropped depending on their values. of is the message
	// that contains the value.
	dropIf map[protowire.Number]func(t *times, of, value []byte) bool
	// own holds the fields that differ between the pods of a template, and apart holds
	// those that are shared separately, because they differ in StatefulSets.
	own, apart numbers
}

// These keep what determines where a pod may run and whether it may be moved, and what
// descheduler's plugins read.
var (
	metadata = &message{
		drop:   of(2, 4, 17),         // generateName, selfLink, managedFields
		own:    of(1, 5, 6, 7, 8, 9), // name, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp
		apart:  of(11, 12),           // labels, annotations
		dropIf: map[protowire.Number]func(*times, []byte, []byte) bool{12: unreadAnnotation},
	}
	spec = &message{
		// serviceAccount, imagePullSecrets, subdomain, automountServiceAccountToken, hostAliases, dnsConfig,
		// shareProcessNamespace, enableServiceLinks, setHostnameAsFQDN
		drop:   of(9, 15, 17, 21, 23, 26, 27, 30, 35),
		within: map[protowire.Number]*message{2: container, 20: container},
		own:    of(10, 16), // nodeName, hostname
		apart:  of(1),      // volumes
		dropIf: map[protowire.Number]func(*times, []byte, []byte) bool{1: anyNodeMounts},
	}
	// Names, images, ports, resources and whatever else may restrict where a container runs
	// are kept. RemoveDuplicates compares images.
	container = &message{
		// command, args, workingDir, env, volumeMounts, livenessProbe, readinessProbe, lifecycle, terminationMessagePath,
		// imagePullPolicy, envFrom, terminationMessagePolicy, startupProbe
		drop: of(3, 4, 5, 7, 9, 10, 11, 12, 13, 14, 19, 20, 22),
	}
	status = &message{
		drop:   of(3, 5, 6, 12, 16), // message, hostIP, podIP, podIPs, hostIPs
		within: map[protowire.Number]*message{2: condition, 8: containerStatus, 10: containerStatus, 13: containerStatus},
		own:    of(startTime),
		apart:  of(2), // conditions
	}
	condition = &message{
		drop:   of(3, 6, 7), // lastProbeTime, message, observedGeneration
		dropIf: map[protowire.Number]func(*times, []byte, []byte) bool{4: normalTransition},
	}
	containerStatus = &message{
		drop:   of(6, 7, 8, 12, 13), // image, imageID, containerID, volumeMounts, user
		within: map[protowire.Number]*message{2: state, 3: lastState},
	}
	state     = &message{within: map[protowire.Number]*message{1: waiting, 2: running, 3: ended}}
	lastState = &message{within: map[protowire.Number]*message{1: waiting, 3: ended}}
	waiting   = &message{drop: of(2)} // message
	running   = &message{dropIf: map[protowire.Number]func(*times, []byte, []byte) bool{1: promptStart}}
	ended     = &message{drop: of(4, 5, 7)} // message, startedAt, containerID
)

// startTime is the field of a pod's status.
const startTime = 7

// read holds the prefixes of the annotations that are read: those of the descheduler and
// Evenkeel, those that mark mirror and static pods, those with which a pod addresses
// autoscalers and controllers, and those that make it a member of a group. client-go reads
// the one that marks the end of a streamed list.
var read = []string{
	"descheduler.alpha.kubernetes.io/", "evenkeel.io/", "kubernetes.io/config.",
	"cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/", v1.PodDeletionCost, batchv1.JobIndexFailureCountAnnotation,
	"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "volcano.sh/job-name", "jobset.sigs.k8s.io/jobset-name",
	"yunikorn.apache.org/task-group-name", "gang.scheduling.koordinator.sh/name",
	metav1.InitialEventsAnnotationKey,
}

func unreadAnnotation(_ *times, _, entry []byte) bool {
	key := string(value(entry, 1))
	return !slices.ContainsFunc(read, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// anyNodeMounts selects volumes that every node can mount. Neither filters nor the
// protection of pods read them, and most pods have one with a unique name.
func anyNodeMounts(_ *times, _, volume []byte) bool {
	source := value(volume, 2)
	for len(source) > 0 {
		f, rest, ok := next(source)
		if !ok {
			return false
		}
		if of(6, 16, 19, 26).has(f.number) { // secret, downwardAPI, configMap, projected
			return true
		}
		source = rest
	}
	return false
}

// times are the times of a pod by which other times are kept or dropped.
type times struct {
	// timeless drops the transition times of conditions, except for a pod that took long to
	// become ready.
	timeless bool
	// start is when the pod started; zero if it has not.
	start time.Time
}

func normalTransition(t *times, condition, at []byte) bool {
	slow := string(value(condition, 1)) == string(v1.PodReady) && !t.start.IsZero() && timeOf(at).Sub(t.start) >= cluster.SlowStart
	return t.timeless && !slow
}

// promptStart selects the start time of a container that started promptly after its pod.
// Without it, the containers of most replicas have equal states.
func promptStart(t *times, _, at []byte) bool {
	return t.start.IsZero() || timeOf(at).Sub(t.start) <= cluster.PromptStart
}

// timeOf decodes a metav1.Time.
func timeOf(data []byte) time.Time {
	var at metav1.Time
	if at.Unmarshal(data) != nil {
		return time.Time{}
	}
	return at.Time
}

// numbers is a set of field numbers. Numbers above 63 are in no set.
type numbers uint64

func of(all ...protowire.Number) (set numbers) {
	for _, number := range all {
		set |= 1 << number
	}
	return set
}

func (s numbers) has(number protowire.Number) bool { return number < 64 && s>>number&1 == 1 }

// field is an encoded field.
type field struct {
	number protowire.Number
	// whole is the field with its tag, and value its content if it is a string or a message.
	whole, tag, value []byte
}

// next reads the first field of a message.
func next(in []byte) (f field, rest []byte, ok bool) {
	number, kind, tagged := protowire.ConsumeTag(in)
	if tagged < 0 {
		return field{}, nil, false
	}
	length := protowire.ConsumeFieldValue(number, kind, in[tagged:])
	if length < 0 {
		return field{}, nil, false
	}
	f = field{number: number, whole: in[:tagged+length], tag: in[:tagged]}
	if kind == protowire.BytesType {
		f.value, _ = protowire.ConsumeBytes(in[tagged:])
	}
	return f, in[tagged+length:], true
}

// value returns the content of a field; nil if the message does not have it.
func value(in []byte, number protowire.Number) []byte {
	for len(in) > 0 {
		f, rest, ok := next(in)
		if !ok {
			return nil
		}
		if f.number == number {
			return f.value
		}
		in = rest
	}
	return nil
}

// parts are the kept fields of a message: those of one pod, those that are shared
// separately, and the rest.
type parts struct{ own, apart, rest []byte }

func (p *parts) reset() { p.own, p.apart, p.rest = p.own[:0], p.apart[:0], p.rest[:0] }

// split appends the kept fields of a message to its parts. It reports whether the message
// can be read.
func (m *message) split(t *times, in []byte, into *parts) (ok bool) {
	for whole := in; len(in) > 0; {
		f, rest, ok := next(in)
		if !ok {
			return false
		}
		to := &into.rest
		switch {
		case m.own.has(f.number):
			to = &into.own
		case m.apart.has(f.number):
			to = &into.apart
		}
		if *to, ok = m.keep(t, *to, whole, f); !ok {
			return false
		}
		in = rest
	}
	return true
}

// lengthBytes is the size of the lengths that keep writes. A varint may be longer than
// necessary, so the length can be filled in after the value.
const lengthBytes = 4

// keep appends what is kept of a field of the message whole.
func (m *message) keep(t *times, out, whole []byte, f field) (kept []byte, ok bool) {
	if m.drop.has(f.number) {
		return out, true
	}
	if dropped := m.dropIf[f.number]; dropped != nil && dropped(t, whole, f.value) {
		return out, true
	}
	within := m.within[f.number]
	if within == nil {
		return append(out, f.whole...), true
	}
	if len(f.value) >= 1<<(7*lengthBytes) { // 256 MiB
		return out, false
	}
	out = append(out, f.tag...)
	at := len(out)
	out = append(out, make([]byte, lengthBytes)...)
	for in := f.value; len(in) > 0; {
		inner, rest, ok := next(in)
		if !ok {
			return out, false
		}
		if out, ok = within.keep(t, out, f.value, inner); !ok {
			return out, false
		}
		in = rest
	}
	length := len(out) - at - lengthBytes
	for i := range lengthBytes {
		out[at+i] = byte(length>>(7*i))&0x7f | 0x80
	}
	out[at+lengthBytes-1] &= 0x7f
	return out, true
}
