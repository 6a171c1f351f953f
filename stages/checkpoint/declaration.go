package checkpoint

import (
	"strings"

	"github.com/tidwall/gjson"
)

// A Declaration is one statement about how the checkpoint is quantised.
type Declaration struct {
	// Where names the file and the key, such as "config.json quantization_config".
	Where string
	// InConfig says that it stands in config.json, where every engine looks.
	InConfig bool
	// Method is the scheme's name in lower case; "" when nothing tells it.
	Method string
	// Implied says that the method follows from the file or the form, because the
	// declaration does not name it.
	Implied bool
	// Fields holds the declaration itself.
	Fields gjson.Result
}

// configKeys are the places in config.json, in the order in which engines look.
var configKeys = []string{"quantization_config", "text_config.quantization_config", "compression_config", "quantization"}

// sideFiles are the files beside it, and the method that each implies.
var sideFiles = []struct{ file, key, method string }{
	{"hf_quant_config.json", "quantization", "modelopt"},
	{"quantize_config.json", "", "gptq"},
	{"quant_config.json", "", "awq"},
	{"quantization_config.json", "", ""},
	{ModelslimFile, "", "modelslim"},
	{"quanto_qmap.json", "", "quanto"},
}

// ModelslimFile is the description that ModelSlim writes: every tensor and its type.
const ModelslimFile = "quant_model_description.json"

func (c *contents) declarations(docs *documents) []Declaration {
	var out []Declaration
	for _, key := range configKeys {
		if r := c.config.Get(key); r.IsObject() && len(r.Map()) > 0 {
			out = append(out, declaration(ConfigFile+" "+key, r, c.impliedMethod(key, r), true))
		}
	}
	for _, s := range sideFiles {
		d := docs.document(s.file, maxDoc)
		if !d.Readable() {
			continue
		}
		where, r := s.file, gjson.Parse(d.text)
		if s.key != "" && r.Get(s.key).IsObject() {
			where, r = s.file+" "+s.key, r.Get(s.key)
		}
		out = append(out, declaration(where, r, s.method, false))
	}
	return out
}

func declaration(where string, r gjson.Result, implied string, inConfig bool) Declaration {
	d := Declaration{Where: where, InConfig: inConfig, Fields: r, Method: strings.ToLower(r.Get("quant_method").Str)}
	if d.Method == "" {
		d.Method, d.Implied = implied, true
	}
	return d
}

// impliedMethod names the method of a declaration that does not: MLX writes its
// own under "quantization" and copies it, and only it has bits without a method.
func (c *contents) impliedMethod(key string, r gjson.Result) string {
	switch {
	case key == "quantization", c.config.Get("quantization").IsObject():
		return "mlx"
	case key == "compression_config", r.Get("config_groups").Exists():
		return "compressed-tensors"
	case r.Get("quant_algo").Exists(), r.Get("quantization.quant_algo").Exists():
		return "modelopt"
	}
	return ""
}
