package messages

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// isApplication says that a line has the header of Java's or Python's loggers, which write the
// milliseconds behind a comma and then how bad it is. No daemon of the node is written so; a
// workload, or a robot that posts alerts, can have the daemons' words in such lines for reasons of
// its own:
//
//	14:54:39,154 ERROR [raft-38] etcdserver: request timed out, tenant 43492      (log4j, logback)
//	2024-05-02 14:54:39,154 - root - WARNING - PLEG is not healthy                (logging)
//	2024-05-02T14:54:39.154Z ERROR 1 --- [kiosk-2] c.e.Bus : Did not receive a reply      (Spring Boot)
func isApplication(line string) bool {
	head := line[:min(len(line), maxStampEnd)]
	if strings.IndexByte(head, ',') >= 0 {
		if at := commaStamp.FindStringIndex(head); at != nil {
			return hasLevelWord(line[at[1]:])
		}
	}
	head, _, ok := strings.Cut(head, " --- [")
	return ok && hasLevelWord(head)
}

// ownWords are what programs of the node say in such lines that is their own: unattended-upgrades
// is written in Python, and reboots the node.
var ownWords = []event.Kind{event.KindShutdown, event.KindOperator}

// commaStamp is a time of day whose milliseconds stand behind a comma.
var commaStamp = regexp.MustCompile(`\b\d\d:\d\d:\d\d,\d{3}[] ]`)

// maxStampEnd is where the stamp of an application's line has ended, behind that of the container's
// log file.
const maxStampEnd = 120

// levelWords are those of Java and Python.
var levelWords = []string{"TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL", "SEVERE"}

// hasLevelWord says that one of the first words of a text is a level.
func hasLevelWord(text string) bool {
	words := strings.FieldsFunc(text[:min(len(text), maxStampEnd)], func(r rune) bool { return strings.ContainsRune(" []-:()", r) })
	return slices.ContainsFunc(words[:min(len(words), maxHeadWords)], func(word string) bool { return slices.Contains(levelWords, word) })
}

// maxHeadWords is how many words stand before the message: a stamp, a process, a thread, a logger.
const maxHeadWords = 10
