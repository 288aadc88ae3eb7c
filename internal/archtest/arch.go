// Package archtest holds the shape of the repository as tests: who may import
// whom, who may start goroutines, who may ask the machine for its clock or its
// environment. It has no code that ships.
package archtest
