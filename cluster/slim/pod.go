package slim

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evenkeel/evenkeel/cluster/names"
)

// mostShared is the maximum number of remembered parts of each kind, mostSharedBytes the
// maximum size of their encodings. Beyond that, all are dropped: pods keep what they
// share, and later pods share new copies. Tenants decide how large parts are, so the
// number alone would bound no memory.
const (
	mostShared      = 65536
	mostSharedBytes = 64 << 20
)

// pods decodes pods without the fields that nothing reads. Each distinct encoding of a
// part is decoded only once: pods of one template differ in a few fields, and decoding the
// others would take most of the time and memory that a pod costs.
type pods struct {
	mu sync.Mutex
	// timeless drops the transition times of conditions.
	timeless bool

	metadata   shared[metav1.ObjectMeta]
	labels     shared[metav1.ObjectMeta]
	specs      shared[v1.PodSpec]
	volumes    shared[[]v1.Volume]
	statuses   shared[v1.PodStatus]
	conditions shared[[]v1.PodCondition]
	nodes      map[string]string

	parts parts // a buffer
}

// The fields of the envelope runtime.Unknown, of its TypeMeta, and of pods and their lists.
const (
	envelopeType, envelopeRaw, envelopeEncoding = 1, 2, 3
	typeVersion, typeKind                       = 1, 2
	podMetadata, podSpec, podStatus             = 1, 2, 3
	listMetadata, listItems                     = 1, 2
)

// prefix marks objects that the API server encodes as protobuf.
var prefix = []byte("k8s\x00")

// Decode decodes a pod or a list of pods as the API server encodes them in protobuf, like
// Transform does with decoded ones. It reports whether the data are those of pods and can
// be read.
func (s *Slimmer) Decode(data []byte) (runtime.Object, bool) {
	kind, raw := unwrap(data)
	switch kind {
	case "Pod":
		pod := &v1.Pod{}
		return pod, s.pods.decode(raw, pod) == nil
	case "PodList":
		list := &v1.PodList{}
		return list, s.pods.decodeList(raw, list) == nil
	}
	return nil, false
}

// unwrap returns the kind of an object of the core API, and its encoding; nothing for any
// other.
func unwrap(data []byte) (kind string, raw []byte) {
	if !bytes.HasPrefix(data, prefix) {
		return "", nil
	}
	for in := data[len(prefix):]; len(in) > 0; {
		f, rest, ok := next(in)
		if !ok || f.number == envelopeEncoding && len(f.value) > 0 { // compressed
			return "", nil
		}
		switch f.number {
		case envelopeType:
			if string(value(f.value, typeVersion)) == "v1" {
				kind = string(value(f.value, typeKind))
			}
		case envelopeRaw:
			raw = f.value
		default: // it does not matter here
		}
		in = rest
	}
	return kind, raw
}

var errMalformed = errors.New("malformed encoding of pods")

func (p *pods) decodeList(raw []byte, list *v1.PodList) error {
	for len(raw) > 0 {
		f, rest, ok := next(raw)
		if !ok {
			return errMalformed
		}
		switch f.number {
		case listMetadata:
			if err := list.ListMeta.Unmarshal(f.value); err != nil {
				return err
			}
		case listItems:
			list.Items = append(list.Items, v1.Pod{})
			if err := p.decode(f.value, &list.Items[len(list.Items)-1]); err != nil {
				return err
			}
		default: // a list has nothing else
		}
		raw = rest
	}
	return nil
}

// decode fills in an empty pod.
func (p *pods) decode(raw []byte, pod *v1.Pod) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var top [podStatus + 1][]byte
	for len(raw) > 0 {
		f, rest, ok := next(raw)
		if !ok {
			return errMalformed
		}
		if f.number <= podStatus {
			if top[f.number] != nil {
				return errMalformed
			}
			top[f.number] = f.value
		}
		raw = rest
	}
	t := times{timeless: p.timeless}
	if began := value(top[podStatus], startTime); began != nil {
		t.start = timeOf(began)
	}
	if err := p.decodeMetadata(&t, top[podMetadata], &pod.ObjectMeta); err != nil {
		return err
	}
	if err := p.decodeSpec(&t, top[podSpec], &pod.Spec); err != nil {
		return err
	}
	if err := p.removeNames(pod); err != nil {
		return err
	}
	return p.decodeStatus(&t, top[podStatus], &pod.Status)
}

func (p *pods) decodeMetadata(t *times, in []byte, meta *metav1.ObjectMeta) (err error) {
	p.parts.reset()
	if !metadata.split(t, in, &p.parts) {
		return errMalformed
	}
	if *meta, err = p.metadata.get(p.parts.rest, decodeMetadata); err != nil {
		return err
	}
	labels, err := p.labels.get(p.parts.apart, decodeMetadata)
	if err != nil {
		return err
	}
	meta.Labels, meta.Annotations = labels.Labels, labels.Annotations
	return meta.Unmarshal(p.parts.own)
}

func (p *pods) decodeSpec(t *times, in []byte, into *v1.PodSpec) (err error) {
	p.parts.reset()
	if !spec.split(t, in, &p.parts) {
		return errMalformed
	}
	if *into, err = p.specs.get(p.parts.rest, decodeSpec); err != nil {
		return err
	}
	into.Volumes, err = p.volumes.get(p.parts.apart, func(data []byte) ([]v1.Volume, error) {
		spec, err := decodeSpec(data)
		return spec.Volumes, err
	})
	if err != nil {
		return err
	}
	err = into.Unmarshal(p.parts.own)
	into.NodeName = p.node(into.NodeName)
	return err
}

func (p *pods) decodeStatus(t *times, in []byte, into *v1.PodStatus) (err error) {
	p.parts.reset()
	if !status.split(t, in, &p.parts) {
		return errMalformed
	}
	if *into, err = p.statuses.get(p.parts.rest, decodeStatus); err != nil {
		return err
	}
	into.Conditions, err = p.conditions.get(p.parts.apart, func(data []byte) ([]v1.PodCondition, error) {
		status, err := decodeStatus(data)
		return status.Conditions, err
	})
	if err != nil {
		return err
	}
	return into.Unmarshal(p.parts.own)
}

func decodeMetadata(data []byte) (meta metav1.ObjectMeta, err error) {
	return meta, meta.Unmarshal(data)
}

func decodeSpec(data []byte) (spec v1.PodSpec, err error) { return spec, spec.Unmarshal(data) }

func decodeStatus(data []byte) (status v1.PodStatus, err error) {
	return status, status.Unmarshal(data)
}

// removeNames removes the names of nodes to which a pod was restricted. What is left of
// its spec is shared like that of other pods.
func (p *pods) removeNames(pod *v1.Pod) error {
	if len(names.Of(pod)) == 0 || pod.Spec.Affinity == nil {
		return nil
	}
	own := pod.Spec
	pod.Spec.Affinity = pod.Spec.Affinity.DeepCopy()
	names.Remove(pod)
	pod.Spec.NodeName, pod.Spec.Hostname, pod.Spec.Volumes = "", "", nil
	data, err := pod.Spec.Marshal()
	if err != nil {
		return err
	}
	if pod.Spec, err = p.specs.get(data, decodeSpec); err != nil {
		return err
	}
	pod.Spec.NodeName, pod.Spec.Hostname, pod.Spec.Volumes = own.NodeName, own.Hostname, own.Volumes
	return nil
}

// node returns the shared copy of a node's name.
func (p *pods) node(name string) string {
	if known, ok := p.nodes[name]; ok {
		return known
	}
	if len(p.nodes) >= mostShared || p.nodes == nil {
		p.nodes = map[string]string{}
	}
	p.nodes[name] = name
	return name
}

// shared holds one decoded value for each encoding.
type shared[T any] struct {
	known map[[sha256.Size]byte]*T
	bytes int // size of the encodings
}

// get returns the value of an encoding. Callers must not write to what it refers to.
func (s *shared[T]) get(data []byte, decode func([]byte) (T, error)) (decoded T, err error) {
	if len(data) == 0 {
		return decoded, nil
	}
	key := sha256.Sum256(data)
	if known, ok := s.known[key]; ok {
		return *known, nil
	}
	if decoded, err = decode(data); err != nil {
		return decoded, err
	}
	if len(s.known) >= mostShared || s.bytes+len(data) > mostSharedBytes || s.known == nil {
		s.known, s.bytes = map[[sha256.Size]byte]*T{}, 0
	}
	s.known[key] = &decoded
	s.bytes += len(data)
	return decoded, nil
}
