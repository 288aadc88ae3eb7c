package linux

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// fullTable is a part of the lines in which the kernel says that a table or a limit of its own is
// full.
type fullTable struct {
	text string
	what string // a value of the field what
	says string // the sentence
}

// fullTables: Linux 2.6.32 to 6.x.
var fullTables = []fullTable{
	{"nf_conntrack: table full, dropping packet", "connections", "the kernel's table of connections is full: it drops packets"},
	{"ip_conntrack: table full, dropping packet", "connections", "the kernel's table of connections is full: it drops packets"},
	{"eighbor table overflow", "neighbours", "the kernel's table of neighbours is full: it finds no new peers"},
	{"eighbour table overflow", "neighbours", "the kernel's table of neighbours is full: it finds no new peers"},
	{"TCP: out of memory -- consider tuning tcp_mem", "tcp-memory", "the memory that TCP may take is used up: connections stall"},
	{"TCP: too many orphaned sockets", "tcp-memory", "TCP has too many sockets that nobody owns: it resets connections"},
	{"VFS: file-max limit ", "open-files", "the node has no open files left: the limit of the whole kernel is reached"},
	{"Route cache is full: ", "routes", "the kernel's cache of IPv6 routes is full: it drops packets"},
	{"audit: backlog limit exceeded", "audit", "the kernel's queue of audit records is full: system calls wait for auditd"},
	{"audit: audit_backlog=", "audit", "the kernel's queue of audit records is full: system calls wait for auditd"},
	{"audit: audit_lost=", "audit", "the kernel's queue of audit records is full: records are lost"},
}

// kernelTableTexts are strings of which one stands in every line that [kernelTableFull] makes an
// event of.
func kernelTableTexts() []string {
	var all []string
	for _, t := range fullTables {
		all = append(all, t.text)
	}
	return all
}

// kernelTableFull is a table or a limit of the whole kernel that is full; the lines are
// rate-limited, so that one stands for many:
//
//	nf_conntrack: table full, dropping packet      (net/netfilter/nf_conntrack_core.c; up to 5.x with its own name twice)
//	neighbour: arp_cache: neighbor table overflow!      (net/core/neighbour.c; ndisc_cache for IPv6; up to 4.x "ipv4: Neighbour table overflow.")
//	TCP: out of memory -- consider tuning tcp_mem      (net/ipv4/tcp.c)
//	TCP: too many orphaned sockets
//	VFS: file-max limit 1610612 reached      (fs/file_table.c)
//	Route cache is full: consider increasing sysctl net.ipv6.route.max_size.      (net/core/dst.c, 4.20 to 6.2)
//	audit: backlog limit exceeded      (kernel/audit.c; before it "audit: audit_backlog=8193 > audit_backlog_limit=8192" and "audit: audit_lost=12 audit_rate_limit=0 …")
func kernelTableFull(r *event.Record) (event.Event, bool) {
	text := r.Message()
	for _, t := range fullTables {
		if strings.Contains(text, t.text) {
			return event.New(event.KindTableFull, t.says, event.FieldWhat.Text(t.what)), true
		}
	}
	return event.Event{}, false
}

// gpuErrors are what the numbers of NVIDIA's driver mean that tell of the card itself, and not of
// the program that it works for (docs.nvidia.com/deploy/xid-errors).
var gpuErrors = map[string]string{
	"48": "an error of its memory that could not be corrected", "63": "a row or page of its memory is marked to be replaced",
	"64": "a row or page of its memory could not be marked to be replaced", "74": "its link to other GPUs failed",
	"62": "its own micro-controller has halted", "79": "it has fallen off the bus",
	"92": "many errors of its memory, which were corrected", "94": "an error of its memory that could not be corrected and hit one program",
	"95":  "an error of its memory that could not be corrected and hit every program",
	"119": "its own processor (GSP) does not answer", "120": "its own processor (GSP) failed",
	"140": "errors of its memory that could not be corrected",
}

// gpuError words one of them. 8, 11, 13, 31, 43 and 45 come of the program mostly: an address that
// is not there, a program that was ended. What other numbers are about is not said: some are the
// card's, most come of the driver, too.
func gpuError(xid string) (what, says string) {
	switch xid {
	case "8", "11", "13", "31", "43", "45":
		return "gpu-program", "a GPU reports an error, mostly of the program that it works for: Xid " + xid
	}
	says = "a GPU reports an error: Xid " + xid
	switch xid {
	case "62", "79", "119", "120":
		return "gpu-silent", says + ", " + gpuErrors[xid]
	}
	if means := gpuErrors[xid]; means != "" {
		return "gpu", says + ", " + means
	}
	return "gpu-other", says
}

// hardwareError is the machine that reports a fault of its own: a memory module, a CPU, a card. The
// first line that names the fault counts, none of those that say more of it:
//
//	mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 7: be00000000800400      (arch/x86/kernel/cpu/mce)
//	{1}[Hardware Error]: event severity: fatal      (drivers/firmware/efi/cper.c; also recoverable, corrected)
//	EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0 (…)      (drivers/edac; UE: not corrected)
//	Memory failure: 0x3a1b2c3: Sending SIGBUS to java:4242 due to hardware memory corruption      (mm/memory-failure.c)
//	nvme 0000:01:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)      (drivers/pci/pcie/aer.c; since 6.9 Uncorrectable)
//	NMI: PCI system error (SERR) for reason a1 on CPU 0.      (arch/x86/kernel/nmi.c)
//	Uhhuh. NMI received for unknown reason 3d on CPU 0.
//	mce: Uncorrected hardware memory error in user-access at 3a1b2c3000
//	mce: CPU3: Core temperature above threshold, cpu clock throttled (total events = 12345)      (also: Package; up to 4.x without "mce: ")
//	NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.      (NVIDIA's driver)
//	NVRM: RmInitAdapter failed! (0x26:0xffff:1127)
//	NVRM: fallen off the bus and is not responding to commands.      (the third line of three, without Xid)
func hardwareError(r *event.Record) (event.Event, bool) {
	text := r.Message()
	what, says, corrected := "", "", false
	switch {
	case strings.Contains(text, "NVRM: Xid "):
		what, says = gpuError(scan.Digits(scan.After(text, "): ")))
	case strings.Contains(text, "NVRM: RmInitAdapter failed"), strings.HasPrefix(strings.TrimSpace(text), "NVRM: fallen off the bus"):
		what, says = "gpu-silent", "a GPU does not answer its driver"
	case strings.Contains(text, "Memory failure: "):
		what, says = "memory", "a page of memory is broken"
	case strings.Contains(text, "EDAC ") && strings.Contains(text, " CE "):
		what, says, corrected = "memory", "a memory module had an error, which was corrected", true
	case strings.Contains(text, "EDAC ") && strings.Contains(text, " UE "):
		what, says = "memory", "a memory module had an error that could not be corrected"
	case strings.Contains(text, "[Hardware Error]: ") && strings.Contains(text, ": Machine Check"):
		what, says = "cpu", "a CPU reports a fault of the machine"
	case strings.Contains(text, "[Hardware Error]: ") && strings.Contains(text, "event severity: "):
		severity := scan.FirstWord(scan.After(text, "event severity: "))
		what, says, corrected = "machine", "the firmware reports a fault of the machine, "+severity, severity == "corrected" || severity == "info"
	case strings.Contains(text, "PCIe Bus Error: severity=Uncorrect"):
		what, says = "machine", "a device on the PCI bus has an error that was not corrected"
	case strings.Contains(text, "NMI: PCI system error (SERR)"), strings.Contains(text, "NMI: IOCK error"), strings.Contains(text, "NMI received for unknown reason "):
		what, says = "machine", "the machine reports a fault of its bus or its memory by an NMI"
	case strings.Contains(text, "mce: Uncorrected hardware memory error"):
		what, says = "memory", "a page of memory is broken"
	case strings.Contains(text, " temperature above threshold, cpu clock throttled"):
		what, says = "cpu", "a CPU is too hot and runs slower"
	default:
		return event.Event{}, false
	}
	return event.New(event.KindHardwareError, says, event.FieldWhat.Text(what), event.FieldCorrected.Bool(corrected)), true
}
