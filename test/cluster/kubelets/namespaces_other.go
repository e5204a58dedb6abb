//go:build !linux

package kubelets

import (
	"os"
	"os/exec"
	"syscall"
)

func runInNamespaces(*exec.Cmd, func() error) error { return ErrUnable }

func tryNamespaces() error { return ErrUnable }

func tryDisk() error { return ErrUnable }

func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func terminate(p *os.Process) error { return p.Kill() }
