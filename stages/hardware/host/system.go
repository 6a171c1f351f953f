package host

import (
	"cmp"
	"regexp"
	"strings"

	"infbench/record"
	"infbench/stages/hardware/arch"
)

// cpu reads the first processor of /proc/cpuinfo and counts them all.
func (l *looker) cpu() record.HostCPU {
	c := record.HostCPU{Arch: cmp.Or(unameOf(l.Arch), "unknown")}
	if l.System == "linux" {
		name, flags := parseCPUInfo(l.text("proc/cpuinfo"))
		c.Model, c.Flags, c.Cores = name, arch.Relevant(flags), countList(l.text("sys/devices/system/cpu/online"))
		c.Level = arch.Level(flags)
		return c
	}
	brand, cores := "machdep.cpu.brand_string", "hw.ncpu"
	if l.System != "darwin" {
		brand = "hw.model"
	}
	if said, ok := l.ask("sysctl", "-n", brand); ok {
		c.Model = model(said)
	}
	if said, ok := l.ask("sysctl", "-n", cores); ok {
		c.Cores = int(min(number(said), maxCores))
	}
	return c
}

const maxCores = 1 << 16

// parseCPUInfo returns the model and the flags of the first processor. Arm's kernels name no
// model: the maker and the part stand for it.
func parseCPUInfo(text string) (name string, flags []string) {
	said := map[string]string{}
	for key, value := range pairs(text, ":") {
		if key == "processor" && said[key] != "" {
			break
		}
		if said[key] == "" {
			said[key] = value
		}
	}
	flags = strings.Fields(cmp.Or(said["flags"], said["Features"]))
	if name = model(said["model name"]); name == "" {
		name = armPart(said["CPU implementer"], said["CPU part"])
	}
	return name, flags
}

// armParts are cores of servers by Arm's, NVIDIA's and Ampere's numbers, as in the kernel's
// arch/arm64/include/asm/cputype.h.
var armParts = map[string]string{
	"0x41 0xd0c": "Arm Neoverse N1", "0x41 0xd40": "Arm Neoverse V1", "0x41 0xd49": "Arm Neoverse N2", "0x41 0xd4f": "Arm Neoverse V2", "0x41 0xd42": "Arm Cortex-A78AE",
	"0x41 0xd85": "Arm Cortex-X925", "0x41 0xd87": "Arm Cortex-A725", "0x41 0xd83": "Arm Neoverse V3AE", "0x41 0xd84": "Arm Neoverse V3", "0xc0 0xac3": "Ampere-1", "0xc0 0xac4": "Ampere-1A", "0x4e 0x004": "NVIDIA Carmel",
}

func armPart(maker, part string) string { return armParts[maker+" "+part] }

// countList counts a list of processors such as "0-63,128-191", 0 for what is none.
func countList(s string) int {
	total := int64(0)
	for part := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		from, to, many := strings.Cut(part, "-")
		if !many {
			to = from
		}
		if !digits.MatchString(from) || !digits.MatchString(to) || number(to) < number(from) {
			return 0
		}
		if total += number(to) - number(from) + 1; total > maxCores {
			return 0
		}
	}
	return int(total)
}

var digits = regexp.MustCompile(`^[0-9]{1,9}$`)

// memory reads how much memory there is. Whose it is follows from the accelerators.
func (l *looker) memory() record.HostMemory {
	m := record.HostMemory{Model: record.UnknownModel}
	if l.System == "linux" {
		for key, value := range pairs(l.text("proc/meminfo"), ":") {
			if kib, ok := strings.CutSuffix(value, " kB"); ok && key == "MemTotal" && digits12.MatchString(kib) {
				m.TotalBytes = number(kib) * 1024
				break
			}
		}
		return m
	}
	key := "hw.physmem"
	if l.System == "darwin" {
		key = "hw.memsize"
	}
	if said, ok := l.ask("sysctl", "-n", key); ok {
		m.TotalBytes = number(said)
	}
	return m
}

var digits12 = regexp.MustCompile(`^[0-9]{1,12}$`)

// system returns the operating system's name and version.
func (l *looker) system() string {
	switch l.System {
	case "linux":
		if name := parseOSRelease(cmp.Or(l.text("etc/os-release"), l.text("usr/lib/os-release"))); name != "" {
			return name
		}
		return "Linux"
	case "darwin":
		said, _ := l.ask("sw_vers", "-productVersion")
		return strings.TrimSpace("macOS " + version(said))
	}
	said, _ := l.ask("uname", "-s")
	if word := strings.TrimSpace(said); systemWord.MatchString(word) {
		return word
	}
	return l.System
}

var systemWord = regexp.MustCompile(`^[A-Za-z]{3,20}$`)

// parseOSRelease returns name and version. PRETTY_NAME is whatever an administrator likes,
// so it is not taken.
func parseOSRelease(text string) string {
	var name, number string
	for key, value := range pairs(text, "=") {
		value = strings.Trim(value, `"'`)
		switch key {
		case "NAME":
			name = systemName.FindString(value)
		case "VERSION_ID":
			number = version(value)
		}
	}
	if name == "" {
		return ""
	}
	return strings.TrimSpace(identifiers.ReplaceAllString(strings.TrimSpace(name), "") + " " + number)
}

var systemName = regexp.MustCompile(`^[A-Za-z](?:GNU/Linux|[A-Za-z0-9 .!_+-]){0,39}`)

// kernel returns the kernel and its release. Of a release only the beginning that every
// kernel has is kept: people name their own builds.
func (l *looker) kernel() string {
	release := ""
	switch l.System {
	case "linux":
		release = l.text("proc/sys/kernel/osrelease")
	default:
		release, _ = l.ask("uname", "-r")
	}
	if m := releaseForm.FindStringSubmatch(strings.TrimSpace(release)); m != nil {
		return strings.TrimSpace(kernelNames[l.System] + " " + m[1])
	}
	return ""
}

var (
	releaseForm = regexp.MustCompile(`^([0-9]{1,3}(?:\.[0-9]{1,6}){1,3}(?:-[0-9]{1,6}(?:\.[0-9]{1,6})*)?(?:[.-](?:generic|aws|azure|gcp|oracle|nvidia|tegra|amd64|arm64|cloud|lowlatency|RELEASE|64k|nvidia-64k|default|el[0-9_]{1,4}|x86_64|aarch64|microsoft-standard-WSL2)\b)*)`)
	kernelNames = map[string]string{"linux": "Linux", "darwin": "Darwin", "freebsd": "FreeBSD", "openbsd": "OpenBSD", "netbsd": "NetBSD"}
)

// container returns what infbench itself runs in.
func (l *looker) container() string {
	switch {
	case l.exists("run/.containerenv"):
		return "podman"
	case l.exists("var/run/secrets/kubernetes.io"), l.exists("run/secrets/kubernetes.io"):
		return "kubernetes"
	case l.exists(".dockerenv"):
		return "docker"
	}
	kind, _ := containerOf(l.text("proc/1/cgroup"))
	return kind
}

// containerForm are the names of control groups that container engines make.
var containerForm = regexp.MustCompile(`(docker|libpod|cri-containerd|crio|containerd)[-/:]([0-9a-f]{64})`)

// containerKinds are the engines whose groups are named otherwise.
var containerKinds = map[string]string{"libpod": "podman", "cri-containerd": "containerd", "crio": "cri-o"}

// containerOf returns which engine made a control group, and the container's id.
func containerOf(cgroup string) (kind, id string) {
	if m := containerForm.FindStringSubmatch(cgroup); m != nil {
		return cmp.Or(containerKinds[m[1]], m[1]), m[2]
	}
	if strings.Contains(cgroup, "/kubepods") {
		return "kubernetes", ""
	}
	return "", ""
}

// libraries are the versions of what engines stand on, where a file or a quick command says so.
func (l *looker) libraries() []record.Version {
	var out []record.Version
	if said, ok := l.ask("getconf", "GNU_LIBC_VERSION"); ok {
		number, found := strings.CutPrefix(strings.TrimSpace(said), "glibc ")
		if found {
			out = known(out, "glibc", number)
		}
	}
	return known(out, "ROCm", l.text("opt/rocm/.info/version"))
}

// learnOwnName reads the machine's name, so that it can be taken out of everything else.
func (l *looker) learnOwnName() {
	l.ownName = strings.TrimSpace(cmp.Or(l.text("proc/sys/kernel/hostname"), l.text("etc/hostname")))
}

// scrub takes the machine's name, and what the caller knows, out of every text that is not
// one of ours.
func (l *looker) scrub(p *record.HostParts) {
	clean := func(s *string) {
		if len(l.ownName) > 5 { // a shorter one is a part of words
			*s = strings.ReplaceAll(*s, l.ownName, "")
		}
		*s = identifiers.ReplaceAllString(*s, "")
		if l.Scrub != nil {
			*s = l.Scrub(*s)
		}
		*s = strings.TrimSpace(*s)
	}
	for _, s := range []*string{&p.CPU.Model, &p.OS, &p.Kernel} {
		clean(s)
	}
	for i := range p.Accelerators {
		if clean(&p.Accelerators[i].Name); p.Accelerators[i].Name == "" {
			p.Accelerators[i].Name = "accelerator"
		}
	}
	for _, list := range [][]record.Version{p.Versions, p.Engine.Versions} {
		for i := range list {
			clean(&list[i].Version)
		}
	}
}
