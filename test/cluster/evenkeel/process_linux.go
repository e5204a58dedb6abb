package evenkeel

import "syscall"

// attributes puts the process in a group of its own and has the kernel end it
// with its parent.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
