//go:build !race

package main

// raced says that the race detector is built in, which takes several times the memory and the time.
const raced = false

// raceFactor is what bounds of time are multiplied by.
const raceFactor = 1
