package recording

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
)

// NodeReading is a Node and its usage; nil if the usage is unknown.
type NodeReading struct {
	Object *v1.Node
	Used   *cluster.Amounts
}

// PodReading is a bound Pod and its usage; nil if the usage is unknown.
type PodReading struct {
	Object *v1.Pod
	Used   *cluster.Amounts
}

// Writer writes a recording. It keeps only existing nodes and pods in memory. It is not
// safe for concurrent use.
type Writer struct {
	packed *gzip.Writer
	hash   *Hasher

	nodes     map[string]int
	pods      map[types.UID]*written
	templates map[string]*template
	// madeTemplates and madePods count the templates and pods written so far.
	madeTemplates, madePods int
	last                    int
}

// written is an existing pod that was written.
type written struct {
	id       int
	template string
	seen     bool
}

// template is the template of existing pods.
type template struct{ id, uses int }

// NewWriter begins a recording. If hash is not nil, it hides names.
func NewWriter(w io.Writer, header Header, hash *Hasher) (*Writer, error) {
	header.Version, header.Hashed = Version, hash != nil
	out := &Writer{
		packed: gzip.NewWriter(w), hash: hash, nodes: map[string]int{}, pods: map[types.UID]*written{},
		templates: map[string]*template{}, last: -1,
	}
	return out, out.write(line{Header: &header})
}

func (w *Writer) write(l line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encoding a line: %w", err)
	}
	if _, err := w.packed.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("writing a line: %w", err)
	}
	return nil
}

// Reading writes a reading, preceded by everything new in it, so that it can be read even
// if nothing follows. number counts intervals since the start and must increase. Pods on
// nodes that are not reported are left out, as are pods whose template is too large to be
// read.
func (w *Writer) Reading(number int, nodes []NodeReading, pods []PodReading) error {
	if number <= w.last {
		return fmt.Errorf("writing reading %d: %d is written already", number, w.last)
	}
	reading := &readingLine{Number: number}
	for i := range nodes {
		id, err := w.node(nodes[i].Object)
		if err != nil {
			return err
		}
		reading.Nodes = appendUsed(reading.Nodes, id, nodes[i].Used)
	}
	for i := range pods {
		if err := w.pod(reading, &pods[i]); err != nil {
			return err
		}
	}
	w.drop(reading)
	if err := w.write(line{Reading: reading}); err != nil {
		return err
	}
	w.last = number
	if err := w.packed.Flush(); err != nil {
		return fmt.Errorf("writing a reading: %w", err)
	}
	return nil
}

func appendUsed(list []int64, id int, used *cluster.Amounts) []int64 {
	if used == nil {
		return list
	}
	return append(list, int64(id), max(0, used[cluster.CPU]), max(0, used[cluster.Memory])/kib)
}

// node returns the number of a node. It writes the node if it is new.
func (w *Writer) node(object *v1.Node) (int, error) {
	if id, ok := w.nodes[object.Name]; ok {
		return id, nil
	}
	node := NodeOf(object)
	if w.hash != nil {
		node = w.hash.node(node)
	}
	id := len(w.nodes)
	w.nodes[object.Name] = id
	return id, w.write(line{Node: newNodeLine(id, &node)})
}

func (w *Writer) pod(reading *readingLine, pod *PodReading) error {
	node, ok := w.nodes[pod.Object.Spec.NodeName]
	if !ok {
		return nil
	}
	known := w.pods[pod.Object.UID]
	if known == nil {
		var err error
		if known, err = w.newPod(pod.Object); known == nil {
			return err
		}
		reading.Came = append(reading.Came, known.id, node)
	}
	if !known.seen {
		known.seen = true
		reading.Pods = appendUsed(reading.Pods, known.id, pod.Used)
	}
	return nil
}

// newPod writes a pod, and its template if that is new. It returns nil if the template is
// too large.
func (w *Writer) newPod(object *v1.Pod) (*written, error) {
	of, name := TemplateOf(object), object.Name
	if w.hash != nil {
		of, name = w.hash.template(of), w.hash.Name(name)
	}
	key, err := json.Marshal(of)
	if err != nil {
		return nil, fmt.Errorf("encoding a pod's template: %w", err)
	}
	if tooLarge(append([]byte(`{"template":{"id":2000000,,`), key...)) {
		return nil, nil //nolint:nilnil // it is left out
	}
	known := w.templates[string(key)]
	if known == nil {
		known = &template{id: w.madeTemplates}
		w.madeTemplates++
		w.templates[string(key)] = known
		if err := w.write(line{Template: newTemplateLine(known.id, &of)}); err != nil {
			return nil, err
		}
	}
	known.uses++
	pod := &written{id: w.madePods, template: string(key)}
	w.madePods++
	w.pods[object.UID] = pod
	return pod, w.write(line{Pod: &podLine{ID: pod.id, Template: known.id, Name: name}})
}

// drop forgets the pods that are not in the reading, and the templates without pods.
func (w *Writer) drop(reading *readingLine) {
	for uid, pod := range w.pods {
		if pod.seen {
			pod.seen = false
			continue
		}
		reading.Gone = append(reading.Gone, pod.id)
		delete(w.pods, uid)
		if t := w.templates[pod.template]; t != nil {
			if t.uses--; t.uses == 0 {
				delete(w.templates, pod.template)
			}
		}
	}
	slices.Sort(reading.Gone)
}

// Close ends the recording.
func (w *Writer) Close() error {
	if err := w.packed.Close(); err != nil {
		return fmt.Errorf("ending a recording: %w", err)
	}
	return nil
}
