package tools

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Addresses is what the clients of DHCP say when they lose the node's address: NetworkManager (0.9
// to 1.50), systemd-networkd (219 to 257), dhclient of ISC (4.1 to 4.4) and dhcpcd (6 to 10).
var Addresses = table.Table{Component: "node", Relays: []string{"", table.HostProgram}, Unnamed: "node", Rows: []table.Row{
	{[]string{
		": DHCP lease lost", "No DHCPOFFERS received", "No working leases in persistent", ": request timed out", ": state changed bound ",
		"(reason 'ip-config-unavailable'", "(reason 'ip-config-expired'", ": carrier lost",
	}, addressLost},
}}

// ofContainers begin the names of the network devices that container networks make.
var ofContainers = []string{"veth", "cali", "lxc", "cni", "flannel", "tunl", "vxlan", "docker", "br-", "virbr", "azv", "eni", "gke", "dummy", "kube-", "nodelocal"}

// addressLost is a card whose address nobody renews, so that the node loses it:
//
//	systemd-networkd[480]: eth0: DHCP lease lost
//	NetworkManager[690]: <warn>  [1732096800.1234] dhcp4 (eth0): request timed out
//	NetworkManager[690]: <info>  [1732096800.1234] dhcp4 (eth0): state changed bound -> expire
//	NetworkManager[690]: <info>  [1732096800.1234] device (eth0): state change: ip-config -> failed (reason 'ip-config-unavailable', sys-iface-state: 'managed')
//	dhclient[650]: No DHCPOFFERS received.
//	dhclient[650]: No working leases in persistent database - sleeping.
//	dhcpcd[650]: eth0: carrier lost
func addressLost(r *event.Record) (event.Event, bool) {
	said := strings.TrimSpace(r.Message())
	device, ok := "", false
	switch unit, _, _ := strings.Cut(r.Unit, "."); unit {
	case "systemd-networkd":
		device, ok = strings.CutSuffix(said, ": DHCP lease lost")
	case "dhcpcd":
		device, ok = strings.CutSuffix(said, ": carrier lost")
	case "dhclient":
		ok = strings.HasPrefix(said, "No ")
	case "NetworkManager":
		device, _ = scan.Between(said, " (", ")")
		dhcp := strings.HasPrefix(scan.After(said, "] "), "dhcp4 ")
		ok = dhcp && (strings.HasSuffix(said, " timed out") || strings.HasSuffix(said, " expire") || strings.HasSuffix(said, " timeout")) ||
			!dhcp && strings.Contains(said, " -> failed ")
	}
	if ok && device == "" {
		device = "a network card"
	}
	e := event.New(
		event.KindLinkDown, device+" has no address: no server of DHCP answers", event.FieldDevice.Text(device), event.FieldWhat.Text("address"),
	)
	container := scan.ContainsAny(device, []string{"@", " "}) && device != "a network card"
	for _, prefix := range ofContainers {
		container = container || strings.HasPrefix(device, prefix)
	}
	return e, ok && !container
}
