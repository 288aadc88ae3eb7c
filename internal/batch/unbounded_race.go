//go:build race

package batch

// memoryIsBounded is false here: the race detector maps terabytes before the program begins.
const memoryIsBounded = false
