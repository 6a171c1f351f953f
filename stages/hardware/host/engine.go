package host

import (
	"cmp"
	"path"
	"regexp"
	"strconv"
	"strings"

	"infbench/record"
)

// imageVariables are those that hold an image's digest where its builder or the deployment
// put it there; versionVariables those by which images say what they hold: NVIDIA's, AMD's
// and PyTorch's base images set them. No other variable of a process is looked at.
var (
	imageVariables   = []string{"INFBENCH_IMAGE", "IMAGE_DIGEST", "CONTAINER_IMAGE_DIGEST"}
	versionVariables = []struct{ variable, name string }{
		{"CUDA_VERSION", "CUDA"},
		{"NCCL_VERSION", "NCCL"},
		{"ROCM_VERSION", "ROCm"},
		{"PYTORCH_VERSION", "PyTorch"},
		{"NVIDIA_PYTORCH_VERSION", "NVIDIA PyTorch"},
		{"CUDNN_VERSION", "cuDNN"},
		{"TENSORRT_VERSION", "TensorRT"},
		{"TRT_LLM_VERSION", "TensorRT-LLM"},
		{"PYTHON_VERSION", "Python"},
		{"LLAMA_CPP_VERSION", "llama.cpp"},
	}
)

// engine returns what the engine that listens here runs in.
func (l *looker) engine() record.HostedBy {
	var out record.HostedBy
	id := ""
	if p := l.listening(); p != nil && p.name != "docker-proxy" {
		out.Container, id = containerOf(l.text(path.Join(p.dir, "cgroup")))
		out.Image, out.Versions = parseEnviron(l.text(path.Join(p.dir, "environ")))
		if out.Image != "" {
			out.ImageBy = "the engine's own environment"
		}
	}
	if out.Image == "" {
		l.inspect(&out, id)
	}
	return out
}

// parseEnviron reads the listed variables of a process's environment and nothing else of it.
func parseEnviron(environ string) (image string, versions []record.Version) {
	said := map[string]string{}
	for entry := range strings.SplitSeq(environ, "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		if _, seen := said[name]; !seen {
			said[name] = value
		}
	}
	for _, name := range imageVariables {
		image = cmp.Or(image, digestIn(said[name]))
	}
	for _, v := range versionVariables {
		versions = known(versions, v.name, said[v.variable])
	}
	return image, versions
}

// digestIn returns the digest that a text is or ends in, as REPOSITORY@sha256:… does.
func digestIn(s string) string {
	return strings.TrimLeft(digestEnd.FindString(strings.TrimSpace(s)), "@")
}

var digestEnd = regexp.MustCompile(`(?:^|@)sha256:[0-9a-f]{64}$`)

// runtimes are the container engines that can be asked about this machine, and where they
// listen: an address is given, or else they might ask another machine.
var runtimes = []struct {
	name, socket string
	args         []string
}{
	{"docker", "run/docker.sock", []string{"--host", "unix:///run/docker.sock"}},
	{"docker", "var/run/docker.sock", []string{"--host", "unix:///var/run/docker.sock"}},
	{"podman", "run/podman/podman.sock", []string{"--url", "unix:///run/podman/podman.sock"}},
}

// inspect asks the container engine which image the target's container was made of. The
// container is the one of the process that listens, or the one that publishes the port.
func (l *looker) inspect(out *record.HostedBy, id string) {
	for _, r := range runtimes {
		if !l.exists(r.socket) || out.Container != "" && out.Container != r.name {
			continue
		}
		ask := func(args ...string) string {
			said, _ := l.ask(r.name, append(append([]string{}, r.args...), args...)...)
			return strings.TrimSpace(said)
		}
		if id == "" {
			id = containerID.FindString(ask("ps", "--no-trunc", "--filter", "publish="+strconv.Itoa(l.Target.Port), "--format", "{{.ID}}"))
		}
		if id == "" {
			continue
		}
		image := digestIn(ask("inspect", "--type", "container", "--format", "{{.Image}}", id))
		if image == "" { // podman leaves the algorithm off
			image = digestIn("sha256:" + ask("inspect", "--type", "container", "--format", "{{.Image}}", id))
		}
		if image == "" {
			continue
		}
		out.Container, out.Image, out.ImageBy = r.name, image, r.name+": the image's id"
		// What was pulled has a digest that others know it by as well.
		for word := range strings.FieldsSeq(ask("image", "inspect", "--format", `{{join .RepoDigests " "}}`, image)) {
			if d := digestIn(word); d != "" {
				out.Image, out.ImageBy = d, r.name+": the digest in its registry"
				break
			}
		}
		return
	}
}

var containerID = regexp.MustCompile(`^[0-9a-f]{64}$`)
