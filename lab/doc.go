// Package lab boots real nodes (Debian with systemd, containerd, docker, in systemd-nspawn or, with
// a kernel of their own, in qemu), breaks them in the ways in which nodes break, collects a bundle
// in the middle of it, heals them, and asks what analyze makes of the bundle. The scenarios are
// tests under the build tag lab; docs/lab.md says what each does and what it takes to run them.
package lab
