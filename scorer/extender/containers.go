package extender

import (
	"errors"
	"fmt"
)

var (
	containerFields = []string{"resources", "restartPolicy"}
	resourceFields  = []string{"requests", "limits"}
)

var errNotQuantity = errors.New("neither a string nor a number where a quantity should be")

// readContainers calls add with each container's requests and limits.
func (r *reader) readContainers(add func(containerResources)) {
	for range r.scan.Array {
		c := containerResources{requests: noAmounts, limits: noAmounts}
		for field := range r.members(containerFields) {
			switch field {
			case "resources":
				r.readResources(&c.requests, &c.limits)
			case "restartPolicy":
				c.restarts = string(r.scan.Bytes()) == "Always"
			}
		}
		add(c)
	}
}

func (r *reader) readResources(requests, limits *amounts) {
	for field := range r.members(resourceFields) {
		switch field {
		case "requests":
			r.readAmounts(requests)
		case "limits":
			r.readAmounts(limits)
		}
	}
}

// readAmounts reads cpu and memory of a resource list.
func (r *reader) readAmounts(to *amounts) {
	for key := range r.scan.Object {
		switch string(key) {
		case "cpu":
			to[cpu] = r.readQuantity(cpuUnits)
		case "memory":
			to[memory] = r.readQuantity(memoryUnits)
		}
	}
}

// readQuantity reads a quantity in units of 1/perOne. Like the API it accepts
// strings literally (escapes are not resolved), numbers, and null for 0.
func (r *reader) readQuantity(perOne int64) int64 {
	c := r.scan.Next()
	start := r.scan.Offset()
	r.scan.Skip()
	text := r.body[start:r.scan.Offset()]
	switch {
	case r.scan.Err() != nil || c == 'n':
		return 0
	case c == '"':
		text = text[1 : len(text)-1]
	case c != '-' && !isDigit(c):
		r.scan.Fail(errNotQuantity)
		return 0
	}
	n, err := parseQuantity(text, perOne)
	if err != nil {
		r.scan.Fail(fmt.Errorf("quantity %.40q: %w", text, err))
	}
	return n
}
