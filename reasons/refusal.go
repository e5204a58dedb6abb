package reasons

import "fmt"

// Refusal is the error for something that is not done for a reason.
type Refusal struct {
	Reason Reason
	Detail string
}

func (r *Refusal) Error() string {
	if r.Detail == "" {
		return string(r.Reason)
	}
	return fmt.Sprintf("%s: %s", r.Reason, r.Detail)
}
