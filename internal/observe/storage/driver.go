package storage

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// driverText is a part of the lines in which a driver, or the layer above all SCSI drivers, waits
// for a request or stops to.
type driverText struct {
	text    string // at least eight bytes, but for those that DriverTexts replaces
	besides string // what the line must hold besides
	what    string // the value of the field what
	does    string // the sentence, before the device
}

// What a driver does, as the field what and a sentence say it.
const (
	timeout = "timeout"
	reset   = "reset"
	failed  = "error"
	says    = "health"
	aborts  = "the driver aborts a request to "
	resets  = "the driver resets "
)

// driverTexts: Linux 2.6.32 to 6.x.
var driverTexts = []driverText{
	{"commands to complete", "waiting for ", timeout, ""},
	{"timing out command, waited", "", timeout, ""},
	{"hostbyte=DID_TIME_OUT", "", timeout, ""},
	{"hostbyte=DID_NO_CONNECT", "", timeout, ""},
	{"hostbyte=DID_TRANSPORT_", "", timeout, ""},
	{"hostbyte=DID_BAD_TARGET", "", timeout, ""},
	{"ontroller lockup detected", "", timeout, ""},
	{"Device offlined - not ready after error recovery", "", timeout, ""},
	{"exception Emask", " frozen", timeout, ""},
	{"exception Emask", "ata", failed, ""},
	{": failed command: ", "ata", failed, ""},
	{": error: { ", "ata", failed, ""},
	{": revalidation failed (errno=", "ata", failed, ""},
	{": lost interrupt (Status ", "ata", timeout, ""},
	{".00: disabled", "ata", failed, ""},
	{": link is slow to respond", "ata", timeout, ""},
	{": softreset failed (", "ata", timeout, ""},
	{": hard resetting link", "ata", reset, resets},
	{" (sct 0x", " @ LBA ", failed, ""},
	{"Sense Key : Medium Error", "sd ", says, ""},
	{"Sense Key : Hardware Error", "sd ", says, ""},
	{"Add. Sense: Unrecovered read error", "sd ", says, ""},
	{"Unexpected sense: PD ", "megaraid_sas", says, ""},
	{" is now DEGRADED", "megaraid_sas", says, ""},
	{" is now OFFLINE", "megaraid_sas", failed, ""},
	{"Controller encountered a fatal error and was reset", "", reset, resets},
	{"FW in FAULT state", "megaraid_sas", timeout, ""},
	{"SAS host is non-operational", "", timeout, ""},
	{"fault_state(0x", "sas", timeout, ""},
	{"qc timeout (cmd", "", timeout, ""},
	{"COMRESET failed", "", timeout, ""},
	{": ping timeout of ", " secs expired", timeout, ""},
	{"detected conn error (", "connection", timeout, ""},
	{"session recovery timed out", "", timeout, ""},
	{"Possible stuck request ", "nbd", timeout, ""},
	{": Connection timed out", "block nbd", timeout, ""},
	{"task abort", "attempting ", reset, aborts},
	{"task abort called for ", "", reset, aborts},
	{"task abort: ", "", reset, aborts},
	{"task abort on host ", "", reset, aborts},
	{"Host adapter abort request", "", reset, aborts},
	{"Abort command issued nexus=", "", reset, aborts},
	{"] abort", "sd ", reset, aborts},
	{" abort", "] tag#", reset, aborts},
	{"resetting fusion adapter", "", reset, resets},
	{"megasas: RESET", "", reset, resets},
	{"target reset called for ", "", reset, resets},
	{" reset FAILED!!", "megasas: ", reset, resets},
	{"Controller reset is requested due to IO timeout", "", timeout, ""},
	{"ing device reset", "attempting ", reset, resets},
	{"ing target reset", "attempting ", reset, resets},
	{"ing host reset", "attempting ", reset, resets},
	{"ing bus reset", "attempting ", reset, resets},
	{" reset: SUCCESS", "", reset, resets},
	{" reset: FAILED", "", reset, resets},
	{"sending diag reset", "", reset, resets},
	{"Host adapter reset request", "", reset, resets},
	{": resetting ", "hpsa", reset, resets},
	{": resetting ", "smartpqi", reset, resets},
	{"SCSI layer issued ", "Reset", reset, resets},
	{" RESET ISSUED nexus=", "", reset, resets},
}

// DriverTexts are strings of which one stands in every line that [DriverTrouble] makes an event of.
func DriverTexts() []string {
	var all []string
	for _, d := range driverTexts {
		switch d.text {
		case "] abort":
			all = append(all, scan.WithEach("[sd", scan.Letters, d.text)...)
		case " abort": // stands in half of all errors; a tag does not
			all = append(all, scan.WithEach("[sd", scan.Letters, d.besides)...)
		default:
			all = append(all, d.text)
		}
	}
	return all
}

// DriverTrouble makes an event of a driver that waits for its disk, gives up a request or resets
// the disk or itself; some seconds later all may be well again.
//
//	megaraid_sas 0000:5a:00.0: [30]waiting for 65 commands to complete for scsi0      (since it began: 30 s; up to 4.x "megasas: [ 0]waiting for 1 commands to complete")
//	megaraid_sas 0000:18:00.0: resetting fusion adapter scsi0.
//	sd 2:2:3:0: [sdd] megasas: RESET cmd=28 retries=0
//	sd 0:2:0:0: [sda] tag#3 task abort called for scmd(ffff96660a80c0c0)      (megaraid_sas; also "target reset called for")
//	sd 0:2:0:0: [sda] tag#11 megasas: target reset FAILED!!
//	sd 0:2:0:0: [sda] tag#186 Controller reset is requested due to IO timeout
//	sd 0:0:4:0: attempting task abort!scmd(0x…), outstanding for 30508 ms & timeout 30000 ms      (mpt3sas; mpt2sas: "mpt2sas3: attempting task abort! scmd(…)")
//	sd 0:0:16:0: task abort: SUCCESS scmd(ffffa0d0ce0c0d80)      ("FAILED" too; so do device, target, bus and host reset)
//	mptscsih: ioc1: attempting task abort! (sc=ffff88061db32a00)
//	mpt2sas0: sending diag reset !!
//	sd 0:0:0:0: [sda] tag#99 task abort on host 0, 0000000002af6841      (mptspi and mptsas of VMware)
//	sd 2:0:0:0: [sda] abort      (virtio_scsi; since 4.0 behind "tag#3")
//	aacraid: Host adapter abort request (0,2,3,0)
//	aacraid: Host adapter reset request. SCSI hang ?
//	hpsa 0000:03:00.0: scsi 0:1:0:0: resetting logical  Direct-Access HP LOGICAL VOLUME RAID-5
//	hpsa 0000:04:00.0: Controller lockup detected: 0x00130000 after 30
//	smartpqi 0000:5c:00.0: resetting scsi 0:1:0:0
//	qla2xxx [0000:05:00.0]-801c:1: Abort command issued nexus=1:0:1 -- 1 2002.
//	lpfc 0000:05:00.0: 0:(0):0713 SCSI layer issued Device Reset (0, 1) return x2002
//	sd 0:0:0:0: [sda] tag#11 timing out command, waited 180s      (drivers/scsi/scsi_lib.c, as are the next two)
//	sd 0:0:0:0: [sda] tag#0 FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK cmd_age=180s
//	sd 3:0:0:1: [sdd] tag#12 FAILED Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK cmd_age=0s      (also DID_TRANSPORT_DISRUPTED, …_FAILFAST, DID_BAD_TARGET)
//	sd 0:0:0:0: Device offlined - not ready after error recovery
//	ata1.00: exception Emask 0x0 SAct 0x7 SErr 0x0 action 0x6 frozen      (frozen: a command ran into its time limit)
//	ata1.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x0      (not frozen: the disk answered with an error)
//	ata1.00: failed command: READ FPDMA QUEUED
//	ata1.00: error: { UNC }
//	ata1.00: disabled      (the kernel has given it up)
//	ata1: hard resetting link      (also: link is slow to respond, softreset failed, lost interrupt, revalidation failed)
//	sd 0:0:0:0: [sda] tag#0 Sense Key : Medium Error [current]      (up to 4.x without the tag; also Hardware Error)
//	megaraid_sas 0000:03:00.0: Found FW in FAULT state, will reset adapter scsi0.
//	megaraid_sas 0000:03:00.0: 2324 (678901234s/0x0001/FATAL) - VD 00/0 is now OFFLINE
//	mpt3sas_cm0: SAS host is non-operational !!!!
//	mpt3sas_cm0: fault_state(0x5854)!
//	nvme0n1: I/O Cmd(0x2) @ LBA 1234, 8 blocks, I/O Error (sct 0x3 / sc 0x71)      (since 5.18; since 5.19 also the command's name)
//	ata1.00: qc timeout (cmd 0xec)
//	 connection1:0: ping timeout of 5 secs expired, recv timeout 5, last rx 4402, last ping 4407, now 4412      (iSCSI)
//	 connection1:0: detected conn error (1020)      (1020: the target closed it; 1022: the ping above)
//	 session1: session recovery timed out after 120 secs
//	block nbd0: Possible stuck request 00000000c2d0fdd5: control (read@0,4096B). Runtime 30 seconds
//	block nbd0: Connection timed out
func DriverTrouble(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(strings.TrimPrefix(r.Message(), "kernel:"))
	device := driverDevice(text)
	for _, d := range driverTexts {
		if device == "" || !strings.Contains(text, d.text) || !strings.Contains(text, d.besides) {
			continue
		}
		if (d.text == " abort" || d.text == "] abort") && !strings.HasSuffix(text, d.text) {
			continue // the line ends with this word
		}
		e := event.New(event.KindBlockError, d.does+device, event.FieldDevice.Text(device), event.FieldWhat.Text(d.what))
		count := scan.Digits(scan.After(text, "waiting for "))
		e.AddNumber(event.FieldCount, count)
		e.AddNumber(event.FieldSeconds, secondsWaited(text))
		switch {
		case d.what == timeout && count != "":
			e.Text = count + " requests to " + device + " are without an answer"
		case d.what == timeout:
			e.Text = device + " does not answer"
		case d.what == failed:
			e.Text = "I/O errors on " + device
		case d.what == says:
			e.Text = "the disk " + device + " says that it fails"
		}
		return e, true
	}
	return event.Event{}, false
}

// secondsWaited is for how many seconds a line says that a request is without an answer; empty
// where it says nothing.
func secondsWaited(text string) string {
	if ms, err := strconv.Atoi(scan.Digits(scan.After(text, "outstanding for "))); err == nil {
		return strconv.Itoa(ms / 1000)
	}
	if s, ok := scan.Between(text, "[", "]waiting for "); ok {
		return scan.Digits(strings.TrimLeft(s, " "))
	}
	return scan.Digits(scan.After(text, "command, waited ", "cmd_age=", "timed out after ", "ping timeout of ", ". Runtime "))
}

// driverDevice is the disk that a line of a SCSI driver names: sda; without a name its address, as
// "sd 0:0:4:0"; else the host, as scsi0; else whoever begins the line, as mpt2sas3 or ata1.
func driverDevice(text string) string {
	if name, ok := scan.Between(text, ": [", "]"); ok && strings.HasPrefix(name, "sd") {
		return name
	}
	words := strings.Fields(text)
	for i, w := range words {
		w = strings.TrimRight(w, ":.,")
		switch host, ok := strings.CutPrefix(w, "scsi"); {
		case i > 0 && strings.Count(w, ":") == 3 && (words[i-1] == "sd" || words[i-1] == "scsi"):
			return words[i-1] + " " + w
		case ok && host != "" && host == scan.Digits(host):
			return w
		}
	}
	head, _, ok := strings.Cut(text, ": ")
	if !ok {
		return ""
	}
	head = strings.TrimPrefix(head, "block ")
	if driver, _, bracket := strings.Cut(head, " ["); bracket {
		return driver
	}
	if port, _, dot := strings.Cut(head, "."); dot && strings.HasPrefix(head, "ata") {
		return port
	}
	if strings.Count(head, " ") > 1 {
		return ""
	}
	return head
}
