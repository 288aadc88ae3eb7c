//go:build !race

package batch

// memoryIsBounded says that the memory of workers has a hard bound.
const memoryIsBounded = true
