// Package archtest holds the shape of the repository as tests: who may import
// whom, who may start goroutines, who may ask the machine for its clock or its
// environment, and that what nobody calls is not linked. It has no code that ships.
package archtest
