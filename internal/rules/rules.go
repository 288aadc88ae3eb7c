// Package rules matches known signatures on a timeline and tells one story per
// incident: the root cause, the links above it, what speaks against it, what
// would decide. Rules are data (catalog/*.yaml); the package knows no file
// format and no terminal.
package rules
