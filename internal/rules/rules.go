// Package rules matches known signatures on a timeline: what each rule found, what speaks against
// it, what would decide. Rules are data (catalog/*.yaml), and package language says what one is;
// this one knows no program that they speak of, no file format and no terminal.
package rules
