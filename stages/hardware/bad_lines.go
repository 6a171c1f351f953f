package hardware

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A badLine is what engines write when a kernel path fails or another one is taken. It is
// known by its words, in lower case: all of has, one of any where there are any, none of
// but. They are whole words; a star at an end says that the word may go on there.
type badLine struct {
	mode   string // of the taxonomy
	source string // who writes it
	hard   bool   // no answer after it can be relied upon
	means  string
	has    []string
	any    []string
	but    []string
}

// about are the words that make a fallback one of kernels: engines fall back to slow
// tokenizers and default templates too.
var about = []string{
	"*attention*", "*attn*", "*kernel*", "*marlin*", "*triton*", "*cutlass*", "*flashinfer*", "*deepgemm*", "*deep_gemm*", "cuda graph*", "*cudagraph*",
	"eager", "*sdpa*", "*backend*", "cpu", "*fp8*", "*fp4*", "*allreduce*", "*all-reduce*", "*all_reduce*",
}

// notKernels have backends too.
var notKernels = []string{"grammar backend*", "guided decoding backend*", "structured output backend*", "tokenizer backend*"}

// badLines are the lines that are known, the surest first. A new one is one more entry, with
// an example of its own in testdata/log-lines.txt.
var badLines = []badLine{
	// The device cannot run the code.
	{"NUM-01", "CUDA", true, "the image holds no code for this device", []string{"no kernel image is available"}, nil, nil},
	{"NUM-01", "PyTorch", true, "PyTorch was not built for this device", []string{"is not compatible with the current pytorch installation"}, nil, nil},
	{"NUM-01", "CUDA", true, "the device has no such function", []string{"invalid device function"}, nil, nil},
	{"NUM-02", "CUTLASS kernels in vLLM, SGLang, DeepGEMM", true, "a kernel was called on a device that it was not written for", []string{"kernel only supports sm*"}, nil, nil},
	{"NUM-02", "FlashInfer, SGLang", true, "a kernel is not made for this device", []string{"current device sm_*"}, []string{"not support*", "cannot support*", "unsupported"}, nil},
	{"NUM-03", "ptxas", true, "the assembler is older than the code that it is given", []string{"ptxas", "unsupported .version"}, nil, nil},
	{"NUM-03", "ptxas", true, "code could not be compiled for this device", []string{"ptxas fatal"}, nil, nil},
	{"NUM-03", "Triton", true, "a kernel could not be compiled", []string{"triton.compiler.errors.compilationerror"}, nil, nil},
	{"NUM-03", "Triton", true, "a kernel wants more than the device has", []string{"triton.runtime.errors.outofresources"}, nil, nil},
	{"NUM-03", "CUDA", true, "the driver is too old for the code", []string{"the provided ptx was compiled with an unsupported toolchain"}, nil, nil},
	{"NUM-01", "any", true, "the processor lacks an instruction that the binary uses", nil, []string{"illegal instruction (core dumped)", "fatal python error: illegal instruction", "sigill"}, []string{"*handle*", "regist*", "install*", "ignor*"}},

	// Kernels that failed.
	{"NUM-04", "CUDA", true, "a kernel read or wrote where nothing is", []string{"illegal memory access"}, nil, nil},
	{"NUM-04", "CUDA", true, "a kernel met an instruction that is none", []string{"cuda error: an illegal instruction"}, nil, nil},
	{"NUM-04", "CUDA", true, "an assertion inside a kernel failed", []string{"device-side assert triggered"}, nil, nil},
	{"NUM-04", "CUDA", true, "an address was not aligned", []string{"cuda error: misaligned address"}, nil, nil},
	{"OPS-03", "CUDA", true, "memory of the device ran out", []string{"cuda out of memory"}, nil, nil},
	{"OPS-03", "PyTorch", true, "memory of the device ran out", []string{"torch.outofmemoryerror"}, nil, nil},
	{"OPS-03", "HIP", true, "memory of the device ran out", []string{"hip out of memory"}, nil, nil},
	{"OPS-03", "llama.cpp", true, "memory of the device ran out", []string{"cudamalloc failed: out of memory"}, nil, nil},
	{"OPS-03", "llama.cpp", true, "a buffer could not be allocated", []string{"failed to allocate", "buffer of size"}, nil, nil},
	{"NUM-04", "cuBLAS", true, "a matrix product failed", []string{"cublas_status_*"}, nil, []string{"cublas_status_success"}},
	{"NUM-04", "CUDA", true, "a call of the driver or runtime failed", []string{"cuda error"}, nil, nil},
	{"NUM-12", "ROCm", true, "the runtime of the device failed", []string{"hsa_status_error*"}, nil, nil},
	{"NUM-12", "ROCm", true, "a call of the runtime failed", []string{"hip error"}, nil, nil},
	{"NUM-12", "ROCm", true, "a kernel read or wrote where nothing is", []string{"memory access fault by gpu"}, nil, nil},
	{"NUM-08", "NCCL", true, "devices failed to talk to each other", []string{"ncclunhandledcudaerror"}, nil, nil},
	{"NUM-08", "NCCL", true, "devices waited for each other in vain", []string{"watchdog caught collective operation timeout"}, nil, nil},
	{"OPS-03", "NVIDIA driver", true, "the driver reports a fault of the device", []string{"nvrm: xid"}, nil, nil},
	{"OPS-03", "NVIDIA driver", true, "the device is gone", []string{"fallen off the bus"}, nil, nil},
	{"OPS-03", "vLLM", true, "the engine's process died", []string{"enginecore encountered a fatal error"}, nil, nil},
	{"OPS-03", "SGLang", true, "the scheduler died", []string{"scheduler hit an exception"}, nil, nil},
	{"OPS-03", "llama.cpp", true, "an assertion of the engine failed", []string{"ggml_assert("}, []string{"failed"}, nil},

	// Numbers that are none.
	{"CON-01", "SGLang", true, "logits held NaN", []string{"nan in the logits"}, nil, nil},
	{"CON-01", "PyTorch", true, "probabilities were NaN, infinite or negative", []string{"probability tensor contains either"}, nil, nil},
	{"CON-01", "any", true, "numbers were NaN", nil, []string{"nan detected", "nans detected", "detected nan", "nan values detected", "contains nan", "found nan in", "logits contain nan"}, nil},

	// Another path than was meant.
	{"OPS-05", "llama.cpp", false, "no device was found: the processor computes", []string{"no usable gpu found"}, nil, nil},
	{"OPS-05", "llama.cpp", false, "the build knows no device: the processor computes", []string{"compiled without support for gpu offload"}, nil, nil},
	{"OPS-05", "llama.cpp", true, "CUDA could not be opened: the processor computes", []string{"ggml_cuda_init: failed to initialize cuda"}, nil, nil},
	{"OPS-05", "PyTorch", false, "CUDA is not there", []string{"cuda is not available"}, nil, nil},
	{"NUM-04", "vLLM, SGLang", true, "the attention backend that was named is not known", []string{"unknown attention backend"}, nil, nil},
	{"NUM-04", "vLLM, SGLang, TensorRT-LLM", false, "another kernel computes than was meant", []string{"falling back to"}, about, notKernels},
	{"NUM-04", "vLLM, SGLang, TensorRT-LLM", false, "another kernel computes than was meant", []string{"fall back to"}, about, notKernels},
	{"NUM-05", "vLLM", false, "the device has no FP8: weights are unpacked by Marlin", []string{"does not have native support for fp8"}, nil, nil},
	{"NUM-05", "vLLM", false, "the device has no FP4: weights are unpacked by Marlin", []string{"does not have native support for fp4"}, nil, nil},
	{"NUM-10", "vLLM", false, "the quantised KV cache has no scales of its own", []string{"*fp8*", "kv cache"}, []string{"scaling factors of 1.0", "scaling factor of 1.0", "without calibrated", "may cause accuracy"}, nil},
	{"NUM-04", "vLLM, SGLang", false, "experts are computed with untuned tiles", []string{"performance might be sub-optimal"}, nil, nil},
	{"NUM-07", "vLLM", false, "decoding is not captured into graphs", []string{"cudagraph is disabled under eager mode"}, nil, nil},
	{"NUM-07", "vLLM", false, "decoding is not captured into graphs", []string{"enforce eager set, disabling"}, nil, nil},
	{"NUM-07", "SGLang", false, "decoding is not captured into graphs", []string{"cuda graph is disabled"}, nil, nil},
	{"CAC-06", "vLLM", false, "requests are thrown out of the batch for want of KV cache", []string{"is preempted by preemptionmode"}, nil, nil},
	{"CAC-06", "SGLang", false, "requests are thrown out of the batch for want of KV cache", []string{"kv cache pool is full. retract requests"}, nil, nil},
	{"CAC-06", "llama.cpp", false, "no room in the KV cache for a batch", []string{"failed to find a memory slot for batch"}, nil, nil},
	{"CAC-06", "llama.cpp", false, "no room in the KV cache for a batch", []string{"failed to find free space in the kv cache"}, nil, nil},
	{"CTX-01", "llama.cpp", false, "the head of a context was dropped to make room", []string{"context shift", "n_discard"}, nil, nil},
}

// find returns where a line, in lower case, shows that it is of this kind, -1 where it is
// not. What stands before are times, processes and hosts.
func (b badLine) find(line string) int {
	at := -1
	for _, w := range b.has {
		i := find(line, w, true)
		if i < 0 {
			return -1
		}
		if at < 0 {
			at = i
		}
	}
	if slices.ContainsFunc(b.but, func(w string) bool { return find(line, w, false) >= 0 }) {
		return -1
	}
	for _, w := range b.any {
		i := find(line, w, len(b.has) == 0)
		if i >= 0 && at < 0 {
			at = i
		}
		if i >= 0 {
			return at
		}
	}
	if len(b.any) > 0 {
		return -1
	}
	return at
}

// find returns where words first stand in a line, -1 where they do not. Where the line may
// deny them, a place where it does is passed over.
func find(line, words string, deniable bool) int {
	text := strings.Trim(words, "*")
	openLeft, openRight := strings.HasPrefix(words, "*"), strings.HasSuffix(words, "*")
	for from, tries := 0, 0; tries < maxTries; tries++ {
		i := strings.Index(line[from:], text)
		if i < 0 {
			return -1
		}
		i += from
		end := i + len(text)
		if (openLeft || whole(line[:i], text)) && (openRight || whole(text, line[end:])) && !(deniable && denied(line[:i], line[end:])) {
			return i
		}
		from = i + 1
	}
	return -1
}

// maxTries is how many places of a line are looked at for the same words: a hostile line
// denies them thousands of times.
const maxTries = 32

// whole reports whether a word ends between two texts, or none is there.
func whole(left, right string) bool {
	l, _ := utf8.DecodeLastRuneInString(left)
	r, _ := utf8.DecodeRuneInString(right)
	return !wordly(l) || !wordly(r)
}

func wordly(r rune) bool {
	return r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r))
}

// denied reports whether what stands around known words says that nothing of the kind was
// met: "no NaN detected", "found 0 NaN", "contains NaN: false", "CUDA error: no error".
func denied(before, after string) bool {
	const near = 48
	before, after = before[max(0, len(before)-near):], after[:min(near, len(after))]
	last := strings.TrimRightFunc(before, unicode.IsSpace)
	last = last[strings.LastIndexFunc(last, func(r rune) bool { return !wordly(r) })+1:]
	return slices.Contains(denials, last) && deniedBefore.MatchString(before) || deniedAfter.MatchString(after)
}

// denials are the last words of deniedBefore: a cheap look first.
var denials = strings.Fields("no not zero never if whether without any for avoid avoids avoiding prevent prevents preventing of cause see get hit encounter 0")

var (
	// "rank 0 NaN" is a place, "found 0 NaN" a count.
	deniedBefore = regexp.MustCompile(`(?:\b(?:no|not|zero|never|if|whether|without(?: any)?|check(?:s|ed|ing)? for(?: any)?|avoid(?:s|ing)?|prevent(?:s|ing)?|in case of|risk of|(?:may|might|could|can) cause|if you (?:see|get|hit|encounter))|` +
		`(?:^|[\])>]|\d:\s|\b(?:found|with|has|had|have|are|were|is|detected|contains?|total|checks?|count|saw|of)[:=]?)\s*0)\s+$`)
	deniedAfter = regexp.MustCompile(`^[\s,?('"\[{]*(?:(?:nans?|count|values?|number|total)\s*)?['"]?\s*[:=]\s*['"]?(?:(?:false|0|disabled|no error)\b|(?:no|none|off|null|success)['"]?\s*(?:[,;.!)}\]|]|$))|^[ -](?:handl|check|recover)`)
)

// asked is where a line goes on with what a client sent or was answered, in lower case: the
// request logs of vLLM, SGLang and llama.cpp, access logs, and bodies of requests. Whatever
// a person asks about, it is no word of the engine's.
var asked = regexp.MustCompile(`received request .*?: (?:prompt|params)|request \S+ details: prompt|generated response .*?: output|\b(?:receive|finish): ?obj=|\brequest\.(?:received|finished)\b|` +
	`\blog_server_r: |\bdone request: |\b(?:converted request|parsed message|streamed chunk|next token|parsing input with format[^:]*): |\bprompt token +\d+: |` +
	`"(?:get|post|put|patch|delete|head|options) [^ "]+ http/|["'](?:messages|prompt|content)\\?["']\s*:`)

// asks returns where what a client sent begins in a line, the line's end where it does not.
func asks(line string) int {
	if slices.ContainsFunc(askedHints, func(w string) bool { return strings.Contains(line, w) }) {
		if at := asked.FindStringIndex(line); at != nil {
			return at[0]
		}
	}
	return len(line)
}

// askedHints are what asked needs one of: a cheap look first.
var askedHints = []string{"request", "response", "obj=", "log_server_r", "parsed message", "streamed chunk", "next token", "parsing input", "prompt", "messages", "content", ` http/`}

// starts are the words with which an engine says its name: what an earlier process wrote
// says little of this one. llama.cpp warns before it does.
var starts = []string{"vllm api server version", "server_args=serverargs("}

// anchors are words of which each line that is looked for holds one.
func anchors() []string {
	out := slices.Clone(starts)
	for _, b := range badLines {
		if len(b.has) == 0 {
			out = append(out, b.any...)
			continue
		}
		out = append(out, slices.MaxFunc(b.has, func(x, y string) int { return len(x) - len(y) }))
	}
	for i, w := range out {
		out[i] = strings.Trim(w, "*")
	}
	return out
}

// A sieve lets the lines through that hold an anchor: almost all of a log holds none, and
// one look at each byte says so.
type sieve struct {
	bits  [1 << 10]uint64
	rests map[uint64][]string // what anchors go on with behind their first bytes
}

// sieveBytes is how much of an anchor is looked for first; none may be shorter.
const sieveBytes = 6

var worthALook = newSieve(anchors())

func newSieve(anchors []string) *sieve {
	s := &sieve{rests: map[uint64][]string{}}
	for _, a := range anchors {
		var w uint64
		for i := range sieveBytes {
			w = w<<8 | uint64(a[i])
		}
		s.rests[w] = append(s.rests[w], a[sieveBytes:])
		word, bit := place(w)
		s.bits[word] |= bit
	}
	return s
}

// lets reports whether a line, in any case, holds an anchor.
func (s *sieve) lets(line []byte) bool {
	var w uint64
	for i, c := range line {
		w = (w<<8 | uint64(small[c])) & (1<<(8*sieveBytes) - 1)
		if word, bit := place(w); s.bits[word]&bit != 0 && slices.ContainsFunc(s.rests[w], func(rest string) bool { return begins(line[i+1:], rest) }) {
			return true
		}
	}
	return false
}

// begins reports whether a line, in any case, begins with a text in lower case.
func begins(line []byte, text string) bool {
	if len(line) < len(text) {
		return false
	}
	for i := range len(text) {
		if small[line[i]] != text[i] {
			return false
		}
	}
	return true
}

// place is the bit of a few bytes: Fibonacci hashing to 16 bits.
func place(w uint64) (word int, bit uint64) {
	h := w * 0x9e3779b97f4a7c15 >> 48
	return int(h >> 6), 1 << (h & 63) //nolint:gosec // sixteen bits
}

// small are the bytes with ASCII letters made small.
var small = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i) //nolint:gosec // below 256
		if 'A' <= i && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()
