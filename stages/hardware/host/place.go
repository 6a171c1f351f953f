package host

import (
	"encoding/hex"
	"io/fs"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"infbench/record"
)

// forwarders are programs that listen for servers on other machines.
var forwarders = []string{"ssh", "sshd", "kubectl", "socat", "autossh", "cloudflared", "tailscaled", "nginx", "haproxy", "envoy", "caddy", "traefik", "ngrok", "oc", "gcloud", "litellm"}

// place says where the target is, and how that was told.
func (l *looker) place() (record.Place, string) {
	t := l.Target
	if t.Host == "" {
		return record.NoTarget, ""
	}
	by := "a loopback address"
	if !loopback(t.Host) {
		if !l.isOwn(t.Host) {
			return record.Elsewhere, "its address is not this machine's"
		}
		by = "an address of this machine"
	}
	p := l.listening()
	switch {
	case p == nil:
		return record.Here, by
	case slices.Contains(forwarders, p.name):
		return record.Unclear, by + ", and " + p.name + " listens there: it may lead to another machine"
	}
	return record.Here, by + ", and the process that listens was seen"
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && a.IsLoopback()
}

func (l *looker) isOwn(host string) bool {
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && l.Own != nil && slices.Contains(l.Own(), a.Unmap().WithZone(""))
}

func ownAddresses() []netip.Addr {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []netip.Addr
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr().Unmap())
		}
	}
	return out
}

// process is one that listens on the target's port.
type process struct {
	dir  string // below proc
	name string
}

// Bounds on the search for a process: a machine of many has 100,000 open files.
const maxProcesses, maxLinks = 1 << 15, 1 << 18

// listening finds the process that listens on the target's port, nil where none is visible:
// those of other users are not.
func (l *looker) listening() *process {
	if l.looked {
		return l.listener
	}
	l.looked = true
	sockets := map[string]bool{}
	for _, table := range []string{"proc/net/tcp", "proc/net/tcp6"} {
		for _, inode := range listeners(l.text(table), l.Target.Port) {
			sockets["socket:["+inode+"]"] = true
		}
	}
	if len(sockets) == 0 {
		return nil
	}
	links := 0
	for _, pid := range l.names("proc", maxProcesses) {
		if !digits.MatchString(pid) {
			continue
		}
		dir := path.Join("proc", pid)
		for _, fd := range l.names(path.Join(dir, "fd"), maxLinks) {
			if links++; links > maxLinks || l.ctx.Err() != nil {
				return nil
			}
			if to, err := fs.ReadLink(l.Root, path.Join(dir, "fd", fd)); err == nil && sockets[to] {
				l.listener = &process{dir, commandName(l.text(path.Join(dir, "comm")))}
				return l.listener
			}
		}
	}
	return nil
}

// commandName is a process's name where it is one of those that mean something here.
func commandName(comm string) string {
	comm = strings.TrimSpace(comm)
	if slices.Contains(forwarders, comm) || comm == "docker-proxy" {
		return comm
	}
	return ""
}

// listeners returns the inodes of the sockets that listen on a port, in a table of
// /proc/net/tcp.
func listeners(table string, port int) []string {
	const local, state, inode, listen = 1, 3, 9, "0A"
	var out []string
	for line := range strings.SplitSeq(table, "\n") {
		f := strings.Fields(line)
		if len(f) <= inode || f[state] != listen || !digits12.MatchString(f[inode]) {
			continue
		}
		_, hexPort, ok := strings.Cut(f[local], ":")
		b, err := hex.DecodeString(hexPort)
		if ok && err == nil && len(b) == 2 && int(b[0])<<8|int(b[1]) == port {
			out = append(out, strconv.FormatInt(number(f[inode]), 10))
		}
	}
	return out
}
