package lab

import "syscall"

// childOfOurs is a process in a group of its own, so that Ctrl-C at the terminal reaches only us, and that ends when we
// are killed.
func childOfOurs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
