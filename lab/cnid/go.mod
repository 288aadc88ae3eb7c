module github.com/plegdiag/plegdiag/lab/cnid

go 1.26.0

// The receive of this release waits without a time-out; later ones have one.
require github.com/vishvananda/netlink v1.1.0

require (
	github.com/vishvananda/netns v0.0.0-20191106174202-0a2b9b5464df // indirect
	golang.org/x/sys v0.0.0-20190606203320-7fc4e5ec1444 // indirect
)
