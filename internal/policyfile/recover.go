package policyfile

import (
	"fmt"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// Recover must be deferred. It turns a panic into the error of an invalid policy, so that
// no policy file can crash a process. The loader, validation and constructors of
// upstream's plugins were written for trusted files and may panic on others.
func Recover(name string, err *error) {
	fault := recover()
	if fault == nil {
		return
	}
	if name == "" {
		name = "policy"
	}
	klog.Background().Error(nil, "Panic while using a policy", "file", name, "panic", fault, "stack", string(debug.Stack()))
	*err = Invalid(name, fmt.Sprintf("internal error: using this policy panicked: %v; please report it with the policy and the log", fault))
}
