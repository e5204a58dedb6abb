package kubelets

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// runInNamespaces runs a command as process 1 of new namespaces, until it or this process
// ends. It calls started in between.
func runInNamespaces(command *exec.Cmd, started func() error) error {
	// The kernel ends the child with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET,
		Setpgid:    true, // Ctrl-C reaches only us
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := command.Start(); err != nil {
		return err
	}
	if err := started(); err != nil {
		_ = command.Process.Kill() // an error means that it has ended
		return errors.Join(err, command.Wait())
	}
	return command.Wait()
}

// tryNamespaces makes all kinds of namespaces that a site and its nodes have.
func tryNamespaces() error {
	command := exec.Command("true")
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWCGROUP,
	}
	return command.Run()
}

// tryDisk reports whether the file system of sites can hold the upper layer of another.
func tryDisk() error {
	const overlay = 0x794c7630 // OVERLAYFS_SUPER_MAGIC
	var disk syscall.Statfs_t
	if err := syscall.Statfs(siteParent, &disk); err != nil {
		return err
	}
	if disk.Type == overlay {
		return errors.New("it is an overlay itself, as in a container")
	}
	return nil
}

// apart lets a process outlive this one, and Ctrl-C.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
