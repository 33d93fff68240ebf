//go:build !unix

package sidecar

import "io/fs"

// isPrivate: there is no /tmp to share.
func isPrivate(fs.FileInfo) bool { return false }
