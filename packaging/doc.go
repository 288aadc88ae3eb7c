// Package packaging holds tests of what a release consists of: that the program is small and needs
// nothing beside it (tag alone, make alone), and what is in archives and packages (tag dist, make
// dist-test). .goreleaser.yaml says what is made.
package packaging
