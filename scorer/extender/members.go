package extender

// place is where in an object the scanner stands.
type place uint8

const (
	atKey place = iota
	atValue
	afterValue
)

// plainMembers consumes members as long as key and value are plain strings
// without white space around them, which most of a Kubernetes object is made of.
// It returns the position it got to and what is to be found there: a member that
// is of another kind, the value of one, or what follows a value.
func plainMembers(data []byte, pos int) (int, place) {
	for pos < len(data) && data[pos] == '"' {
		value := plainEnd(data, pos+1) + 2
		if value >= len(data) || data[value-2] != '"' || data[value-1] != ':' {
			break
		}
		if data[value] != '"' {
			return value, atValue
		}
		end := plainEnd(data, value+1) + 1
		if end >= len(data) || data[end-1] != '"' {
			return value, atValue
		}
		if data[end] != ',' {
			return end, afterValue
		}
		pos = end + 1
	}
	return pos, atKey
}

func (s *scanner) skipObject() error {
	empty, err := s.open('{', '}', "an object")
	if empty || err != nil {
		return err
	}
	for {
		var at place
		s.pos, at = plainMembers(s.data, s.pos)
		if at == atKey {
			if _, err := s.key(); err != nil {
				return err
			}
		}
		if at != afterValue {
			if err := s.skip(); err != nil {
				return err
			}
		}
		if more, err := s.more('}'); !more {
			return err
		}
	}
}
