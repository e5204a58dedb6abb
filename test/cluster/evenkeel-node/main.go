// Command evenkeel-node makes a Kubernetes node out of a part of this machine:
// namespaces, a cgroup and a network link, in which containerd and a kubelet run. Package
// kubelets starts it. This module also pins what nodes run besides the kubelet
// (containerd, runc and the CNI plugins), so that other modules do not depend on them.
//
// The program has several roles, because every namespace begins with a process:
//
//	site -- COMMAND…  process 1 of the namespaces that all nodes and their control plane share
//	keep              makes a node's cgroup and network link, and removes the cgroup
//	boot              process 1 of a node: mounts its files, runs containerd and the kubelet
//	clean             removes what is left when the process that made the site has ended
//	burn              the only program in the image: uses CPU and memory as told
//
// Called as oci-runtime, it is runc for containers without a seccomp profile.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	code, err := run(filepath.Base(os.Args[0]), os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "evenkeel-node: "+err.Error())
		code = 1
	}
	os.Exit(code)
}

func run(name string, args []string) (code int, err error) {
	if name == "oci-runtime" {
		return 1, runc(args)
	}
	if len(args) == 0 {
		return 1, fmt.Errorf("no role (allowed: site, keep, boot, clean, burn)")
	}
	switch role, args := args[0], args[1:]; role {
	case "site":
		return site(args)
	case "keep":
		return 0, keep(args)
	case "boot":
		return 0, boot(args)
	case "clean":
		return 0, clean(args)
	case "burn":
		return 0, burn(args)
	default:
		return 1, fmt.Errorf("unknown role %q (allowed: site, keep, boot, clean, burn)", role)
	}
}
