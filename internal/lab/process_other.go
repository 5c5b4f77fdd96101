//go:build !linux

package lab

import "syscall"

func childOfOurs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
