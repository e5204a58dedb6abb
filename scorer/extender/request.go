package extender

import (
	"errors"
	"fmt"
)

// maxNodes bounds what one request makes the server hold. Kubernetes supports
// 5,000 nodes, the largest clusters shown have 130,000.
const maxNodes = 1 << 18

// notLooked marks a name that was decoded without looking it up.
const notLooked = -2

// The requests that are valid JSON and yet cannot be answered.
var (
	errNoPod     = errors.New("the request names no pod")
	errNoNodes   = errors.New("the request names no nodes: both NodeNames and Nodes are empty")
	errManyNodes = fmt.Errorf("the request names more than %d nodes", maxNodes)
)

// span is a range of bytes in the request body.
type span struct{ start, end uint32 }

// request is a decoded ExtenderArgs. Names and nodes stay byte ranges into the
// body. The zero value is ready; decode may be called again and again.
type request struct {
	scan   scanner
	pod    Pod
	hasPod bool

	// names are the node names as quoted in the body; an empty span is a node
	// without a name.
	names []token
	// guide is the Index by which found was filled while decoding: the nodes of the names, -1 for those that it does not know,
	// notLooked for those that are still to be looked up. Both may lack.
	guide *Index
	found []int32
	// nodes are the whole Node objects, in the order of names; empty when the
	// request has names only (nodeCacheCapable).
	nodes []span

	acc resources
}

var (
	argsFields = []string{"Pod", "Nodes", "NodeNames"}
	listFields = []string{"items"}
	nodeFields = []string{"metadata"}
	nameFields = []string{"name"}
)

// decode reads body, which must stay unchanged while the request is in use. It looks names up in guide, which may be nil, as it
// goes.
func (r *request) decode(body []byte, guide *Index) error {
	*r = request{scan: scanner{data: body}, names: r.names[:0], nodes: r.nodes[:0], guide: guide, found: r.found[:0]}
	fields := fieldSet{names: argsFields}
	err := r.scan.object(func(key []byte) error {
		field, err := fields.match(key)
		if err != nil {
			return err
		}
		switch field {
		case 0:
			return in("Pod", r.decodePod())
		case 1:
			return in("Nodes", r.decodeNodes())
		case 2:
			return in("NodeNames", r.decodeNames())
		}
		return r.scan.skip()
	})
	if err != nil {
		return err
	}
	if err := r.scan.end(); err != nil {
		return err
	}
	return r.check()
}

// check refuses what cannot be answered and settles what needed the whole text.
func (r *request) check() error {
	switch {
	case !r.hasPod:
		return errNoPod
	case len(r.names) == 0:
		return errNoNodes
	}
	r.settlePod()
	return nil
}

// lacksNames says whether a request that was decoded with err has no node names.
func (r *request) lacksNames(err error) bool {
	return errors.Is(err, errNoNodes) || err == nil && len(r.nodes) > 0
}

// decodeNames reads the node names of a nodeCacheCapable request.
func (r *request) decodeNames() error {
	if len(r.nodes) > 0 {
		return r.dropNodes()
	}
	if isNull, err := r.scan.null(); isNull || err != nil {
		return err
	}
	empty, err := r.scan.open('[', ']', "an array")
	if empty || err != nil {
		return err
	}
	for {
		r.addPlainNames()
		name, err := r.scan.str()
		if err != nil {
			return err
		}
		if err := r.addName(name); err != nil {
			return err
		}
		if more, err := r.scan.more(']'); !more {
			return err
		}
	}
}

// addPlainNames consumes names as long as they are plain and followed by a comma
// and no white space, which is what kube-scheduler sends but for the last name.
func (r *request) addPlainNames() {
	data, pos, names, found := r.scan.data, r.scan.pos, r.names, r.found
	last := int32(-1)
	for len(names) < maxNodes && pos < len(data) && data[pos] == '"' {
		node, length := int32(notLooked), 0
		if r.guide != nil {
			node, length = r.guide.order.next(last, data[pos:])
		}
		end := pos + length
		if length == 0 {
			if end = plainEnd(data, pos+1) + 1; end > len(data) || data[end-1] != '"' {
				break
			}
			if r.guide != nil {
				node = int32(r.guide.Find(data[pos+1 : end-1]))
				r.guide.order.learn(last, node)
			}
		}
		if end >= len(data) || data[end] != ',' {
			break
		}
		names, found = append(names, token{start: uint32(pos), end: uint32(end), plain: true}), append(found, node)
		pos, last = end+1, node
	}
	r.scan.pos, r.names, r.found = pos, names, found
}

// dropNodes reads names after whole nodes: names win if there are any.
func (r *request) dropNodes() error {
	names, nodes, found := r.names, r.nodes, r.found
	r.names, r.nodes, r.found = nil, nil, nil
	if err := r.decodeNames(); err != nil {
		return err
	}
	if len(r.names) == 0 {
		r.names, r.nodes, r.found = names, nodes, found
	}
	return nil
}

// decodeNodes reads the NodeList of a request that is not nodeCacheCapable. If
// names came before it, it is not needed.
func (r *request) decodeNodes() error {
	if len(r.names) > 0 {
		return r.scan.skip()
	}
	fields := fieldSet{names: listFields}
	return r.scan.object(func(key []byte) error {
		field, err := fields.match(key)
		if err != nil {
			return err
		}
		if field < 0 {
			return r.scan.skip()
		}
		return r.scan.array(func(int) error { return r.decodeNode() })
	})
}

// decodeNode reads one Node: its name, and where it stands.
func (r *request) decodeNode() error {
	r.scan.next()
	node := span{start: uint32(r.scan.pos)}
	var name token
	fields := fieldSet{names: nodeFields}
	err := r.scan.object(func(key []byte) error {
		field, err := fields.match(key)
		if err != nil {
			return err
		}
		if field < 0 {
			return r.scan.skip()
		}
		return r.decodeNodeName(&name)
	})
	if err != nil {
		return err
	}
	node.end = uint32(r.scan.pos)
	r.nodes = append(r.nodes, node)
	return r.addName(name)
}

func (r *request) decodeNodeName(name *token) error {
	fields := fieldSet{names: nameFields}
	return r.scan.object(func(key []byte) error {
		field, err := fields.match(key)
		if err != nil {
			return err
		}
		if field < 0 {
			return r.scan.skip()
		}
		if isNull, err := r.scan.null(); isNull || err != nil {
			return err
		}
		*name, err = r.scan.str()
		return err
	})
}

func (r *request) addName(name token) error {
	if len(r.names) >= maxNodes {
		return errManyNodes
	}
	r.names, r.found = append(r.names, name), append(r.found, notLooked)
	return nil
}

// nodeName returns the name of node i as the client meant it, valid until the
// next decode.
func (r *request) nodeName(i int) []byte {
	if name := r.names[i]; name.plain {
		return r.scan.inner(name)
	}
	return r.specialName(r.names[i])
}

// specialName returns a name with escapes, or that of a node without one.
func (r *request) specialName(name token) []byte {
	if name.end == 0 {
		return nil
	}
	text, err := r.scan.text(name)
	if err != nil {
		return nil // cannot happen: str has checked the syntax
	}
	return []byte(text)
}

// in says where in the request an error lies.
func in(place string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", place, err)
}
