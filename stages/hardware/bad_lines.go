package hardware

import "bytes"

// A badLine is what engines write when a kernel path fails or another one is taken. It is
// known by its words, in lower case: all of has, one of any where there are any, none of
// but.
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
var about = []string{"attention", "attn", "kernel", "marlin", "triton", "cutlass", "flashinfer", "deepgemm", "deep_gemm", "cuda graph", "cudagraph", "eager", "sdpa", "backend", " cpu", "fp8", "fp4", "allreduce", "all-reduce"}

// badLines are the lines that are known, the surest first. A new one is one more entry, with
// an example of its own in testdata/log-lines.txt.
var badLines = []badLine{
	// The device cannot run the code.
	{"NUM-01", "CUDA", true, "the image holds no code for this device", []string{"no kernel image is available"}, nil, nil},
	{"NUM-01", "PyTorch", true, "PyTorch was not built for this device", []string{"is not compatible with the current pytorch installation"}, nil, nil},
	{"NUM-01", "CUDA", true, "the device has no such function", []string{"invalid device function"}, nil, nil},
	{"NUM-02", "CUTLASS kernels in vLLM, SGLang, DeepGEMM", true, "a kernel was called on a device that it was not written for", []string{"kernel only supports sm"}, nil, nil},
	{"NUM-02", "FlashInfer, SGLang", true, "a kernel is not made for this device", []string{"not support", "current device sm_"}, nil, nil},
	{"NUM-03", "ptxas", true, "the assembler is older than the code that it is given", []string{"ptxas", "unsupported .version"}, nil, nil},
	{"NUM-03", "ptxas", true, "code could not be compiled for this device", []string{"ptxas fatal"}, nil, nil},
	{"NUM-03", "Triton", true, "a kernel could not be compiled", []string{"triton.compiler.errors.compilationerror"}, nil, nil},
	{"NUM-03", "Triton", true, "a kernel wants more than the device has", []string{"triton.runtime.errors.outofresources"}, nil, nil},
	{"NUM-03", "CUDA", true, "the driver is too old for the code", []string{"the provided ptx was compiled with an unsupported toolchain"}, nil, nil},
	{"NUM-01", "any", true, "the processor lacks an instruction that the binary uses", nil, []string{"illegal instruction (core dumped)", "sigill"}, nil},

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
	{"NUM-04", "cuBLAS", true, "a matrix product failed", []string{"cublas_status_"}, nil, []string{"cublas_status_success"}},
	{"NUM-04", "CUDA", true, "a call of the driver or runtime failed", []string{"cuda error"}, nil, []string{"cuda error: no error"}},
	{"NUM-12", "ROCm", true, "the runtime of the device failed", []string{"hsa_status_error"}, nil, nil},
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
	{"CON-01", "any", true, "numbers were NaN", nil, []string{"nan detected", "nans detected", "detected nan", "nan values detected", "contains nan", "found nan in", "logits contain nan"}, []string{"no nan", "check for nan"}},

	// Another path than was meant.
	{"OPS-05", "llama.cpp", false, "no device was found: the processor computes", []string{"no usable gpu found"}, nil, nil},
	{"OPS-05", "llama.cpp", false, "the build knows no device: the processor computes", []string{"compiled without support for gpu offload"}, nil, nil},
	{"OPS-05", "llama.cpp", true, "CUDA could not be opened: the processor computes", []string{"ggml_cuda_init: failed to initialize cuda"}, nil, nil},
	{"OPS-05", "PyTorch", false, "CUDA is not there", []string{"cuda is not available"}, nil, nil},
	{"NUM-04", "vLLM, SGLang", true, "the attention backend that was named is not known", []string{"unknown attention backend"}, nil, nil},
	{"NUM-04", "vLLM, SGLang, TensorRT-LLM", false, "another kernel computes than was meant", []string{"falling back to"}, about, nil},
	{"NUM-04", "vLLM, SGLang, TensorRT-LLM", false, "another kernel computes than was meant", []string{"fall back to"}, about, nil},
	{"NUM-05", "vLLM", false, "the device has no FP8: weights are unpacked by Marlin", []string{"does not have native support for fp8"}, nil, nil},
	{"NUM-05", "vLLM", false, "the device has no FP4: weights are unpacked by Marlin", []string{"does not have native support for fp4"}, nil, nil},
	{"NUM-10", "vLLM", false, "the quantised KV cache has no scales of its own", []string{"fp8", "kv cache"}, []string{"scaling factors of 1.0", "scaling factor of 1.0", "without calibrated", "may cause accuracy"}, nil},
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

// matches reports whether a line, in lower case, is of this kind.
func (b badLine) matches(line []byte) bool {
	for _, w := range b.has {
		if !bytes.Contains(line, []byte(w)) {
			return false
		}
	}
	for _, w := range b.but {
		if bytes.Contains(line, []byte(w)) {
			return false
		}
	}
	for _, w := range b.any {
		if bytes.Contains(line, []byte(w)) {
			return true
		}
	}
	return len(b.any) == 0
}

// at returns where the words of the line begin: what stands before it are times, processes
// and hosts.
func (b badLine) at(line []byte) int {
	for _, w := range append(b.has[:len(b.has):len(b.has)], b.any...) {
		if i := bytes.Index(line, []byte(w)); i >= 0 {
			return i
		}
	}
	return 0
}

// starts are the words with which an engine says its name: what an earlier process wrote
// says little of this one. llama.cpp warns before it does.
var starts = [][]byte{[]byte("vllm api server version"), []byte("server_args=serverargs(")}
