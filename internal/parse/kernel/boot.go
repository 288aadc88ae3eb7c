package kernel

import "github.com/plegdiag/plegdiag/internal/parse/lines"

// bootTexts stand in lines that the kernel writes at every boot, and nobody else.
var bootTexts = lines.NewLiterals([]string{
	"Freeing unused kernel ", "SELinux: initialized (dev ", "io scheduler ", "VFS: Disk quotas ", "audit: initializing netlink ", " SATA link up ", " SATA link down ",
	"Attached SCSI ", "-byte logical blocks: ", "): mounted filesystem with ", "device number ", "NET: Registered ", "BIOS-e820: ", "Kernel command line: ", "setting system clock to ",
})

// leastBootLines is how many such lines make a text a log of the kernel.
const leastBootLines = 3

// IsBootLine says that a line is one that the kernel writes at every boot.
func IsBootLine(line []byte) bool { return bootTexts.Match(line) }

// IsBootLog says that head is what dmesg printed without stamps, as of kernels that were told to
// write none. A text in which headed says that such a line has a header is a log of another kind.
//
//	Freeing unused kernel memory: 1260k freed
//	ata3: SATA link down (SStatus 0 SControl 300)
//	SELinux: initialized (dev cgroup, type cgroup), uses genfs_contexts
func IsBootLog(head []byte, headed func(line []byte) bool) bool {
	if !bootTexts.Match(head) {
		return false
	}
	found := 0
	for line := range lines.OfHead(head) {
		if !IsBootLine(line) {
			continue
		}
		if headed(line) {
			return false
		}
		found++
	}
	return found >= leastBootLines
}
