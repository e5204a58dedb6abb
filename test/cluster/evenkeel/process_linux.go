package evenkeel

import "syscall"

// attributes puts the process in its own group and lets the kernel end it with
// its parent.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
