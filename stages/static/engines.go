package static

import "infbench/gates"

// What engines do with a defect, one list for each kind: this is why stage 0 looks
// before they do. Read in the code of the versions named; the rest are reports.
var (
	whenPartMissing = []gates.Consequence{
		{Engine: "vLLM 0.32", Does: "nothing by default: that every parameter was loaded is checked only in unquantised models, unless enable_weights_track is set (vLLM 57108). " +
			"The scale is what memory held, or a sentinel that disappears under a maximum; ModelOpt NVFP4 raises for weight_scale alone"},
		{Engine: "SGLang 0.5.10", Does: "nothing: empty memory for NVFP4, sentinels for dense FP8 scales, ones for the input scales of FP8 experts"},
		{Engine: "transformers 5.24", Does: "initialises it anew and lists it as MISSING in a warning"},
		{Engine: "TensorRT-LLM", Does: "raises: \"Required but not provided tensors\" (1677), or a KeyError (6530)"},
		{Engine: "mlx-lm", Does: "builds the module plain when scales are missing, and raises over the shape"},
		{Engine: "exllamav3", Does: "raises when a layer has neither its group of tensors nor a weight"},
	}
	whenTensorMissing = []gates.Consequence{
		{Engine: "vLLM 0.32", Does: "raises in unquantised models; in quantised ones it leaves memory as it was"},
		{Engine: "SGLang 0.5.10", Does: "nothing: the weight is what memory held"},
		{Engine: "transformers 5.24", Does: "initialises it anew and lists it as MISSING in a warning"},
		{Engine: "TensorRT-LLM", Does: "raises: \"Required but not provided tensors\" (1677), or a KeyError (6530)"},
		{Engine: "mlx-lm", Does: "raises"},
		{Engine: "exllamav3", Does: "raises"},
		{Engine: "llama.cpp", Does: "raises \"missing tensor\" over a GGUF file"},
	}
	whenShardMissing = []gates.Consequence{
		{Engine: "vLLM 0.32", Does: "raises (\"Weight files referenced in index but missing\"); older versions did not"},
		{Engine: "SGLang 0.5.10", Does: "nothing: a file that is not there is not among those it globs (fixed upstream in SGLang 32279)"},
		{Engine: "transformers 5.24", Does: "raises"},
		{Engine: "TensorRT-LLM", Does: "raises"},
		{Engine: "mlx-lm", Does: "raises over the missing parameters; it never reads the index"},
		{Engine: "exllamav3", Does: "raises"},
	}
	whenNotInShard = []gates.Consequence{
		{Engine: "vLLM 0.32", Does: "nothing: the index only chooses files, and in quantised models nobody counts what they held"},
		{Engine: "SGLang 0.5.10", Does: "nothing"},
		{Engine: "transformers 5.24", Does: "initialises it anew and lists it as MISSING in a warning"},
		{Engine: "TensorRT-LLM", Does: "raises"},
		{Engine: "exllamav3", Does: "raises"},
	}
	whenUnknownTensor = []gates.Consequence{
		{Engine: "vLLM 0.32", Does: "raises \"There is no module or parameter named X\"; some models skip it"},
		{Engine: "SGLang 0.5.10", Does: "logs \"Parameter X not found in params_dict\" and goes on"},
		{Engine: "transformers 5.24", Does: "lists it as UNEXPECTED in a warning"},
		{Engine: "TensorRT-LLM", Does: "mostly ignores it"},
		{Engine: "mlx-lm", Does: "raises"},
		{Engine: "exllamav3", Does: "ignores it"},
	}
	whenShardUnlisted = []gates.Consequence{
		{Engine: "vLLM 0.32", Does: "drops shards that are not in the index"},
		{Engine: "mlx-lm", Does: "reads every model*.safetensors, whatever the index says; a shard with another prefix is never loaded"},
	}
	whenCacheUnscaled = []gates.Consequence{
		{Engine: "vLLM 0.32", Does: "takes 1.0 for the scales, with one warning"},
		{Engine: "SGLang 0.5.10", Does: "takes 1.0 for the scales, with one warning"},
	}
	whenSidecarOnly = []gates.Consequence{
		{Engine: "vLLM 0.32", Does: "reads quantize_config.json only when the method is already known: loads as unquantised, or not at all"},
	}
	whenShapeWrong = []gates.Consequence{
		{Engine: "vLLM", Does: "raises \"Attempted to load weight … into parameter\", unless a loader of a fused or quantised layer cuts its part out first"},
		{Engine: "SGLang", Does: "raises the same: it has the same loaders"},
		{Engine: "transformers 5.24", Does: "raises, unless told to ignore sizes that differ"},
		{Engine: "mlx-lm", Does: "raises over the shape"},
		{Engine: "llama.cpp", Does: "raises over a GGUF file whose tensors are not as its metadata says"},
	}
	// Tried with safetensors 0.8.0 on one file of each kind.
	whenHeaderBroken = []gates.Consequence{
		{Engine: "vLLM, SGLang, transformers", Does: "raise SafetensorError when they open the shard, which is after the download: the safetensors package refuses it"},
	}
	whenNeverEnding = []gates.Consequence{
		{Engine: "vLLM, SGLang", Does: "stop on generation_config.json's list and on the tokenizer's end token; answers run to the limit where neither is what the model says"},
		{Engine: "transformers 5.24", Does: "stops on generation_config.json alone"},
	}
	// Tried with a real server: see TestRealEngineAgreesWithStage0.
	whenVocabularyBroken = []gates.Consequence{
		{Engine: "llama.cpp", Does: "serves a model whose end token is outside its vocabulary without a word: answers run to the limit"},
	}
)
