package extender

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/jsonscan"
)

// maxNodes bounds the memory of one request. Kubernetes supports 5,000 nodes;
// the largest clusters demonstrated have 130,000.
const maxNodes = 1 << 18

// notLooked marks a name that has not been looked up yet.
const notLooked = -2

// The errors of requests that are valid JSON but cannot be answered.
var (
	errNoPod     = errors.New("the request names no pod")
	errNoNodes   = errors.New("the request names no nodes: both NodeNames and Nodes are empty")
	errManyNodes = fmt.Errorf("the request names more than %d nodes", maxNodes)
)

// span is a range of bytes in the request body.
type span struct{ start, end uint32 }

// nodeName is a node's name in the request body, including the quotes. An empty span is a
// node without a name.
type nodeName struct {
	span
	// plain reports whether the bytes between the quotes are the name itself, without
	// escapes.
	plain bool
}

// request is a decoded ExtenderArgs. Names and nodes are byte ranges of the
// body. The zero value is ready to use; decode may be called repeatedly.
type request struct {
	reader

	pod    Pod
	hasPod bool

	names []nodeName
	// guide is the Index that is used to fill found while decoding; it may be nil. found
	// holds the node of each name: -1 if guide does not contain the name, notLooked if it
	// has not been looked up yet.
	guide *Index
	found []cluster.NodeIndex
	// nodes holds the whole Node objects, in the order of names. It is empty if the
	// request has only names (nodeCacheCapable).
	nodes []span
}

var (
	argsFields = []string{"Pod", "Nodes", "NodeNames"}
	listFields = []string{"items"}
	nodeFields = []string{"metadata"}
	nameFields = []string{"name"}
)

// decode reads body, which must stay unchanged while the request is in use. It
// looks names up in guide, unless that is nil.
func (r *request) decode(body []byte, guide *Index) error {
	*r = request{reader: r.reader, names: r.names[:0], nodes: r.nodes[:0], guide: guide, found: r.found[:0]}
	r.reset(body)
	for field := range r.members(argsFields) {
		switch field {
		case "Pod":
			r.hasPod = r.readPod(&r.pod)
		case "Nodes":
			r.readNodes()
		case "NodeNames":
			r.readNames()
		}
	}
	if err := r.end(); err != nil {
		return err
	}
	return r.check()
}

// check returns an error for a request that cannot be answered.
func (r *request) check() error {
	switch {
	case !r.hasPod:
		return errNoPod
	case len(r.names) == 0:
		return errNoNodes
	}
	return nil
}

// lacksNames reports whether a request that was decoded with err has no node
// names.
func (r *request) lacksNames(err error) bool {
	return errors.Is(err, errNoNodes) || err == nil && len(r.nodes) > 0
}

// readNames reads the node names of a nodeCacheCapable request. If there are any, they
// replace whole nodes that were read before.
func (r *request) readNames() {
	names, nodes, found := r.names, r.nodes, r.found
	if len(nodes) > 0 {
		r.names, r.nodes, r.found = nil, nil, nil
	}
	for range r.scan.Array {
		r.readPlainNames()
		r.addName(r.readName())
	}
	if len(r.names) == 0 {
		r.names, r.nodes, r.found = names, nodes, found
	}
}

// readPlainNames consumes names while they are plain and followed by a comma without
// white space. kube-scheduler sends all but the last name in this form.
func (r *request) readPlainNames() {
	from := r.scan.Offset()
	data, pos, names, found := r.body, from, r.names, r.found
	last := cluster.NodeIndex(-1)
	for len(names) < maxNodes && pos < len(data) && data[pos] == '"' {
		node, length := cluster.NodeIndex(notLooked), 0
		if r.guide != nil {
			node, length = r.guide.order.next(last, data[pos:])
		}
		end := pos + length
		if length == 0 {
			if end = jsonscan.PlainEnd(data, pos+1) + 1; end > len(data) || data[end-1] != '"' {
				break
			}
			if r.guide != nil {
				node = r.guide.Find(data[pos+1 : end-1])
				r.guide.order.learn(last, node)
			}
		}
		if end >= len(data) || data[end] != ',' {
			break
		}
		names, found = append(names, nodeName{span{uint32(pos), uint32(end)}, true}), append(found, node)
		pos, last = end+1, node
	}
	r.scan.Advance(pos - from)
	r.names, r.found = names, found
}

// readNodes reads the NodeList of a request that is not nodeCacheCapable. It ignores the
// list if names were read before.
func (r *request) readNodes() {
	if len(r.names) > 0 {
		return
	}
	for range r.members(listFields) {
		for range r.scan.Array {
			r.readNode()
		}
	}
}

// readNode reads one Node: its name and its byte range.
func (r *request) readNode() {
	r.scan.Next()
	start := r.scan.Offset()
	var name nodeName
	for range r.members(nodeFields) {
		for range r.members(nameFields) {
			if r.scan.Next() != 'n' {
				name = r.readName()
			}
		}
	}
	r.nodes = append(r.nodes, span{uint32(start), uint32(r.scan.Offset())})
	r.addName(name)
}

// readName reads a string, which must not be null.
func (r *request) readName() nodeName {
	if r.scan.Next() != '"' {
		r.scan.Unexpected("a string")
		return nodeName{}
	}
	start := r.scan.Offset()
	plain := r.scan.SkipString()
	return nodeName{span{uint32(start), uint32(r.scan.Offset())}, plain}
}

func (r *request) addName(name nodeName) {
	if len(r.names) >= maxNodes {
		r.scan.Fail(errManyNodes)
		return
	}
	r.names, r.found = append(r.names, name), append(r.found, notLooked)
}

// nodeName returns the unescaped name of node i, valid until the next decode.
func (r *request) nodeName(i int) []byte {
	name := r.names[i]
	if name.plain {
		return r.body[name.start+1 : name.end-1]
	}
	return r.specialName(name)
}

// specialName returns a name that has escapes, or nil for a node without a
// name.
func (r *request) specialName(name nodeName) []byte {
	if name.end == 0 {
		return nil
	}
	var text string
	if err := json.Unmarshal(r.body[name.start:name.end], &text); err != nil {
		return nil // cannot happen: the scanner has checked the syntax
	}
	return []byte(text)
}
