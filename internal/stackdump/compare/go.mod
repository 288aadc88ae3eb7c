// The comparison with another parser is a module of its own, so that the program does not depend on that one.
module github.com/plegdiag/plegdiag/internal/stackdump/compare

go 1.26.0

require (
	github.com/DataDog/gostackparse v0.7.0
	github.com/plegdiag/plegdiag v0.0.0
)

require github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe // indirect

replace github.com/plegdiag/plegdiag => ../../..
