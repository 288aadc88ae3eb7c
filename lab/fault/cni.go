package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// networkConfig is what a runtime gives a network plugin on standard input.
type networkConfig struct {
	Version string `json:"cniVersion"`
	Mode    string `json:"mode"` // work, hang or crash
	Pool    map[string]string
}

// beNetworkPlugin does what the configuration wants. The address of a pod is invented: nothing in
// the lab needs one.
func beNetworkPlugin(name string) error {
	if os.Getenv("CNI_COMMAND") == "VERSION" {
		fmt.Println(`{"cniVersion":"0.4.0","supportedVersions":["0.3.1","0.4.0"]}`)
		return nil
	}
	var config networkConfig
	if err := json.NewDecoder(os.Stdin).Decode(&config); err != nil {
		return err
	}
	if name == "lab-cni" && os.Getenv("CNI_COMMAND") == "ADD" {
		switch config.Mode {
		case "hang":
			time.Sleep(time.Hour)
		case "crash":
			config.Pool[os.Getenv("CNI_CONTAINERID")] = "10.0.0.2" // nobody has made it: the plugin crashes as Go programs do
		}
	}
	if os.Getenv("CNI_COMMAND") == "ADD" {
		fmt.Printf(`{"cniVersion":%q,"interfaces":[{"name":%q,"sandbox":%q}],"ips":[{"version":"4","interface":0,"address":"10.0.0.2/16"}]}`+"\n",
			config.Version, os.Getenv("CNI_IFNAME"), os.Getenv("CNI_NETNS"))
	}
	return nil
}
