//go:build dist

package packaging

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const made = "../dist"

// one is the only file of a release that a pattern matches.
func one(t *testing.T, pattern string) string {
	found, err := filepath.Glob(filepath.Join(made, pattern))
	require.NoError(t, err)
	require.Len(t, found, 1, pattern)
	path, err := filepath.Abs(found[0])
	require.NoError(t, err)
	return path
}

func sumOf(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// output runs a tool, and returns what it prints.
func output(t *testing.T, name string, args ...string) string {
	cmd := exec.Command(name, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	require.NoError(t, err, "%s %s: %s%s", name, args, out, said.String())
	return string(out)
}

// TestSameBytes: the release, make build here, and make build of a copy in another directory give
// the same program.
func TestSameBytes(t *testing.T) {
	released := one(t, "plegdiag_linux_"+runtime.GOARCH+"_*/plegdiag")
	require.Equal(t, sumOf(t, released), sumOf(t, "../plegdiag"), "make build makes what the release holds")
	elsewhere := filepath.Join(t.TempDir(), "a directory", "of another name")
	for name := range strings.SplitSeq(strings.TrimSuffix(output(t, "git", "-C", "..", "ls-files", "-z", "*.go", "go.mod", "go.sum", "cmd", "docs", "internal", "fleet", "Makefile"), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join("..", name))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed, and not committed yet
		}
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(elsewhere, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(elsewhere, name), text, 0o644))
	}
	output(t, "make", "-C", elsewhere, "build", "STAMP="+os.Getenv("STAMP"))
	require.Equal(t, sumOf(t, released), sumOf(t, filepath.Join(elsewhere, "plegdiag")), "the directory is in the bytes")
}

// TestArchives: there is one for each platform, checksums name them all, and krew's manifest too.
func TestArchives(t *testing.T) {
	sums, err := os.ReadFile(filepath.Join(made, "checksums.txt"))
	require.NoError(t, err)
	listed := map[string]string{}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		require.Equal(t, sumOf(t, filepath.Join(made, name)), sum, name)
		listed[name] = sum
	}
	var krew struct {
		Spec struct {
			Platforms []struct{ URI, SHA256, Bin string }
		}
	}
	text, err := os.ReadFile(one(t, "krew/plegdiag.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &krew))
	require.Len(t, krew.Spec.Platforms, 5)
	for _, p := range krew.Spec.Platforms {
		name := filepath.Base(p.URI)
		require.Equal(t, listed[name], p.SHA256, name)
		require.Contains(t, contentOf(t, filepath.Join(made, name)), p.Bin, name)
	}
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"} {
		content := contentOf(t, one(t, "plegdiag_*_"+platform+".tar.gz"))
		require.Subset(t, content, []string{"plegdiag", "LICENSE", "README.md", "man/plegdiag-analyze.1", "completions/_plegdiag"})
	}
}

// contentOf are the names in an archive.
func contentOf(t *testing.T, path string) []string {
	if strings.HasSuffix(path, ".zip") {
		return strings.Fields(output(t, "python3", "-c", "import sys,zipfile; print('\\n'.join(zipfile.ZipFile(sys.argv[1]).namelist()))", path))
	}
	return strings.Fields(output(t, "tar", "-tzf", path))
}

// packaged are the files of a package and their modes, besides man pages; %s is the directory for
// zsh.
const packaged = `-rwxr-xr-x /usr/bin/plegdiag
-rw-r--r-- /usr/share/bash-completion/completions/plegdiag
-rw-r--r-- /usr/share/doc/plegdiag/copyright
-rw-r--r-- /usr/share/fish/vendor_completions.d/plegdiag.fish
-rw-r--r-- /usr/share/zsh/%s/_plegdiag
`

const withSystemd = `-rwxr-xr-x /usr/bin/plegdiag-when-unhealthy
-rw-r--r-- /usr/lib/systemd/system/plegdiag-when-unhealthy.service
`

// checkFiles compares files, as "MODE PATH", with what a package is to hold.
func checkFiles(t *testing.T, want string, got []string) {
	pages := 0
	got = slices.DeleteFunc(got, func(line string) bool {
		isPage := strings.HasPrefix(line, "-rw-r--r-- /usr/share/man/man1/plegdiag") && strings.HasSuffix(line, ".1.gz")
		if isPage {
			pages++
		}
		return isPage
	})
	require.Greater(t, pages, 15, "manual pages")
	require.ElementsMatch(t, strings.Split(strings.TrimSuffix(want, "\n"), "\n"), got)
}

func TestRPM(t *testing.T) {
	for goarch, arch := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		path := one(t, "plegdiag-*."+arch+".rpm")
		require.Equal(t, "plegdiag Apache-2.0 "+arch+" linux", output(t, "rpm", "-qp", "--qf", "%{NAME} %{LICENSE} %{ARCH} %{OS}", path), goarch)
		require.Empty(t, output(t, "rpm", "-qp", "--scripts", path), "nothing is enabled or started")
		output(t, "rpm", "-K", "--nosignature", path)
		got := strings.Split(strings.TrimSpace(output(t, "rpm", "-qp", "--qf", "[%{FILEMODES:perms} %{FILENAMES}\n]", path)), "\n")
		got = slices.DeleteFunc(got, func(line string) bool { return strings.HasPrefix(line, "d") })
		checkFiles(t, fmt.Sprintf(packaged, "site-functions")+withSystemd, got)
	}
}

// TestAPK reads the package as apk does: a tar archive of control files, then one of content.
func TestAPK(t *testing.T) {
	for _, arch := range []string{"x86_64", "aarch64"} {
		file, err := os.Open(one(t, "plegdiag_*_"+arch+".apk"))
		require.NoError(t, err)
		defer file.Close()
		unpacked, err := gzip.NewReader(bufio.NewReader(file))
		require.NoError(t, err)
		var got []string
		info := ""
		for archive := tar.NewReader(unpacked); ; {
			h, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			if strings.HasPrefix(h.Name, ".") {
				text, err := io.ReadAll(archive)
				require.NoError(t, err)
				require.Equal(t, ".PKGINFO", h.Name, "no script runs when it is installed")
				info = string(text)
			} else if h.Typeflag == tar.TypeReg {
				got = append(got, h.FileInfo().Mode().String()+" /"+h.Name)
			}
		}
		for _, want := range []string{"pkgname = plegdiag\n", "arch = " + arch + "\n", "license = Apache-2.0\n"} {
			require.Contains(t, info, want)
		}
		checkFiles(t, fmt.Sprintf(packaged, "site-functions"), got)
	}
}

// TestDebian: in a Debian that has neither Go nor network, the package is installed, analyses and
// collects, and goes without a trace.
func TestDebian(t *testing.T) {
	require.Equal(t, 0, os.Geteuid(), "make dist-test is for root")
	deb := one(t, "plegdiag_*_"+runtime.GOARCH+".deb")
	root := filepath.Join(t.TempDir(), "debian")
	output(t, "debootstrap", "--variant=minbase", "bookworm", root)
	for from, to := range map[string]string{deb: "plegdiag.deb", "../testdata/lab-umount2/bundle.tgz": "incident.tgz"} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(root, to), text, 0o644))
	}
	inside := func(command string) string {
		const mounted = "mount -t proc proc /proc && "
		return output(t, "unshare", "--net", "--mount", "--pid", "--fork", "chroot", root, "/bin/sh", "-ec", mounted+command)
	}
	inside("dpkg -i /plegdiag.deb")
	var got []string
	for line := range strings.Lines(inside("dpkg -L plegdiag | while read -r f; do [ -d $f ] || stat -c '%A %n' $f; done")) {
		got = append(got, strings.TrimSpace(line))
	}
	checkFiles(t, fmt.Sprintf(packaged, "vendor-completions")+withSystemd, got)
	require.Empty(t, inside("dpkg -V plegdiag; find /etc -name '*plegdiag*'"), "the unit is not enabled, no file is changed")
	require.Regexp(t, `^plegdiag v\S+ go1\S+ linux/\S+ commit [0-9a-f]{40} of \S+Z\n$`, inside("plegdiag --version"))
	require.Contains(t, inside("plegdiag analyze /incident.tgz"), "the shim sits in umount2")
	require.Contains(t, inside("cd /tmp && plegdiag collect --no-signal --timeout 1m -o b.tgz && plegdiag verify b.tgz && plegdiag ls b.tgz"), "manifest.json")
	inside("dpkg -P plegdiag")
	require.Empty(t, inside("find /usr -name '*plegdiag*'"))
}
