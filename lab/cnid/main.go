// Command lab-cnid is a CNI daemon reduced to what hangs in real ones: requests of plugins come
// over a socket, and each talks to the kernel over netlink with the daemon's lock held, by a
// release of the netlink library that waits for ever. It is a module of its own for that release's
// sake.
//
//	lab-cnid          serve
//	lab-cnid alloc    be a plugin: ask for an address
package main

import (
	"fmt"
	"net"
	"net/rpc"
	"os"
	"sync"

	"github.com/vishvananda/netlink"
)

const socket = "/run/lab-cnid.sock"

// networkService serves the plugins, one at a time.
type networkService struct {
	mu   sync.Mutex
	next int
}

// AllocIP gives a pod an address, after a look at the links that there are.
func (n *networkService) AllocIP(pod string, address *string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	links, err := netlink.LinkList()
	if err != nil {
		return err
	}
	n.next++
	*address = fmt.Sprintf("10.0.%d.%d/16 for %s beside %d links", n.next/256, n.next%256, pod, len(links))
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "lab-cnid:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == "alloc" {
		client, err := rpc.Dial("unix", socket)
		if err != nil {
			return err
		}
		var address string
		err = client.Call("CNI.AllocIP", "pod", &address)
		fmt.Println(address)
		return err
	}
	if err := os.RemoveAll(socket); err != nil {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	if err := rpc.RegisterName("CNI", &networkService{}); err != nil {
		return err
	}
	rpc.Accept(listener)
	return nil
}
