//go:build unix

package sidecar

import (
	"io/fs"
	"os"
	"syscall"
)

// isPrivate tells whether it is a directory of this user's own, closed to everybody else. Anybody may
// make one in /tmp first, and turns are not told to a stranger's socket.
func isPrivate(info fs.FileInfo) bool {
	owner, known := info.Sys().(*syscall.Stat_t)
	return known && int(owner.Uid) == os.Geteuid() && info.IsDir() && info.Mode().Perm()&0o077 == 0
}
