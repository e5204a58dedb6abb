package cluster

import "syscall"

// childAttributes puts a part into its own process group, so that the
// terminal's Ctrl-C reaches only us and we stop the parts in order, and has the
// kernel end it should we die without a chance to.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
