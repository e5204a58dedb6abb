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

// decodeContainers hands what each container asks for to add.
func (r *request) decodeContainers(add func(containerResources)) error {
	return r.scan.array(func(int) error {
		c := containerResources{requests: noAmounts, limits: noAmounts}
		if err := r.decodeContainer(&c); err != nil {
			return err
		}
		add(c)
		return nil
	})
}

func (r *request) decodeContainer(c *containerResources) error {
	fields := fieldSet{names: containerFields}
	return r.scan.object(func(key []byte) error {
		field, err := fields.match(key)
		if err != nil {
			return err
		}
		switch field {
		case 0:
			return r.decodeResources(&c.requests, &c.limits)
		case 1:
			var policy string
			err := r.readText(&policy)
			c.restarts = policy == "Always"
			return err
		}
		return r.scan.skip()
	})
}

func (r *request) decodeResources(requests, limits *amounts) error {
	fields := fieldSet{names: resourceFields}
	return r.scan.object(func(key []byte) error {
		field, err := fields.match(key)
		if err != nil {
			return err
		}
		switch field {
		case 0:
			return r.decodeAmounts(requests)
		case 1:
			return r.decodeAmounts(limits)
		}
		return r.scan.skip()
	})
}

// decodeAmounts reads cpu and memory of a resource list.
func (r *request) decodeAmounts(to *amounts) error {
	return r.scan.object(func(key []byte) (err error) {
		switch string(key) {
		case "cpu":
			to[cpu], err = r.readQuantity(cpuUnits)
			return err
		case "memory":
			to[memory], err = r.readQuantity(memoryUnits)
			return err
		}
		return r.scan.skip()
	})
}

// readQuantity reads a quantity in units of 1/perOne. Like the API it takes
// strings as they are (escapes are not resolved), numbers, and null for 0.
func (r *request) readQuantity(perOne int64) (int64, error) {
	c := r.scan.next()
	start := r.scan.pos
	if err := r.scan.skip(); err != nil {
		return 0, err
	}
	text := r.scan.data[start:r.scan.pos]
	switch {
	case c == 'n':
		return 0, nil
	case c == '"':
		text = text[1 : len(text)-1]
	case c != '-' && !isDigit(c):
		return 0, errNotQuantity
	}
	n, err := parseQuantity(text, perOne)
	if err != nil {
		return 0, fmt.Errorf("quantity %q: %w", clip(text), err)
	}
	return n, nil
}

// clip shortens what is quoted in a message.
func clip(text []byte) []byte {
	const limit = 40
	return text[:min(len(text), limit)]
}
