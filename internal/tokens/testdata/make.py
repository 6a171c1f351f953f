#!/usr/bin/env python3
"""Makes the small tokenizers and golden.json of this folder.

The reference is the Python package "tokenizers", so the expected ids come from
outside the code under test. Run it by hand, with that package in a virtual
environment, and read the diff:

    python3 make.py [folder with the files named in SHIPPED]

The folder is test/data of the Go module github.com/daulet/tokenizers; the ids
of its models are written down, the models are not copied.

The vocabularies are trained on a few packages of the Go standard library.
"""
import copy
import hashlib
import json
import pathlib
import random
import subprocess
import sys

import tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
PACKAGES = ["bufio", "bytes", "encoding/json", "fmt", "go/ast", "io", "net/http", "net/url", "os", "regexp",
            "sort", "strconv", "strings", "sync", "text/template", "time", "unicode/utf8"]
SHIPPED = ["Meta-Llama-3-8B-Instruct.json", "cohere-tokenizer.json"]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
PUNCT = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""

CODE = """// Median returns the middle of xs, which it sorts; ok is false where there is none.
func Median(xs []float64) (m float64, ok bool) {
\tif len(xs) == 0 {
\t\treturn 0, false // not NaN: a caller that forgets ok prints 0, and sees it
\t}
\tslices.Sort(xs)
\tmid := len(xs) / 2
\tif len(xs)%2 == 1 {
\t\treturn xs[mid], true
\t}
\treturn (xs[mid-1] + xs[mid]) / 2, true
}

type Sample struct {
\tAt    time.Duration `json:"at_ns"`
\tBytes [16]byte      `json:"bytes,omitempty"`
}

for i := 0; i < 1_000_000; i += 0x10 {\r\n    fmt.Printf("%08b|%-20s|%v\\n", i, "naïve café", ch<-  i)\r\n}
"""


def corpus():
    root = pathlib.Path(subprocess.check_output(["go", "env", "GOROOT"], text=True).strip()) / "src"
    return [f.read_text() for p in PACKAGES for f in sorted((root / p).glob("*.go")) if not f.name.endswith("_test.go")]


def byte_level(**kw):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True} | kw


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def added(i, content, special=False, **kw):
    return {"id": i, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": not special, "special": special} | kw


def train(texts, pre, vocab, alphabet=True, unk=None):
    t = Tokenizer(models.BPE(unk_token=unk))
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] + ([unk] if unk else [])
    t.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocab, special_tokens=special, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()) if alphabet else []))
    return json.loads(t.to_str())


def write(name, d, legacy_merges=False):
    if legacy_merges:
        d["model"]["merges"] = [" ".join(m) for m in d["model"]["merges"]]
    (HERE / name).write_text(json.dumps(d, ensure_ascii=False, separators=(",", ":")) + "\n")


def make_tokenizers():
    texts = corpus()
    bl = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    write("bytelevel.json", train(texts, bl, 2000), legacy_merges=True)

    llama = train(texts, pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"), plain]), 2000)
    llama["model"]["ignore_merges"] = True
    # A whole word that no merge reaches: only ignore_merges finds it.
    llama["model"]["vocab"]["infbench"] = len(llama["model"]["vocab"])
    write("llama3.json", llama)

    write("digits.json", train(texts, pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), bl]), 2000))
    # Only the bytes of the corpus: the others are unknown.
    write("partial.json", train(["the quick brown fox 0123456789 jumps over the lazy dog. É\n"] * 9,
                                bl, 120, alphabet=False, unk="<unk>"))


def texts():
    fixed = [
        "", " ", "a", "Hello, world!", "The quick brown fox jumps over the lazy dog.",
        "I'm sure they'll say we'd've; it's HERS, DON'T you'RE 'S 'Ll", "'\u017faid 'S\u017f x'\u212a",
        "func main() {\n\tfmt.Println(\"hi\", 42)\n}\n", "if err != nil {\n\treturn nil, fmt.Errorf(\"read %s: %w\", path, err)\n}",
        "infbench infbench Infbench", "SELECT * FROM t WHERE a >= 10 AND b <> 'x';  -- why?",
        "#include <stdio.h>\r\nint main(void) { return 0; }\r\n", "x = {k: v for k, v in d.items()}\n\n\n\n    pass",
        "0 1 12 123 1234 12345 123456 3.14159 1e-9 0xDEADBEEF 1,000,000", "٠١٢٣٤٥ ०१२३ Ⅷ ½ ² ① 𝟘𝟙",
        "日本語のトークン化は難しい。", "今天天气很好，我们去公园散步吧！", "한국어 문장도 하나 있습니다.", "漢字かなカナ混じり文 mixed with English",
        "مرحبا بالعالم، كيف حالك؟", "شَكْلٌ عَرَبِيٌّ", "שלום עולם", "Привет, мир!", "Γειά σου Κόσμε", "สวัสดีชาวโลก", "नमस्ते दुनिया",
        "Zażółć gęślą jaźń", "Ångström Å Å Å é é ệ ệ", "각 각 ᄀ", "Żółw fi ﬁ ﬀ ß ẞ ŉ",
        "e" + "\u0301" * 40 + "x", "a" + "\u0323\u0301" * 25 + "b",
        "😀 😃😄 👍🏽 👨‍👩‍👧‍👦 🏳️‍🌈 🇫🇷🇩🇪 ☃️ 🤷🏻‍♂️", "\u1715\u0338 a\u0898\u0323 \U0001e08f\u0316 \U00011938 \U00011935\U00011930 e\u0301", "a\u200db\u200cc", "\ufeffbom", "\u00ad soft\u00adhyphen",
        "  leading", "trailing  ", "a  b   c    d", "\t\ttabs\t", "\n", "\n\n\n", " \n ", "\r\n\r\n", "a\r\rb", "\u00a0nbsp\u00a0\u00a0x",
        "\u2003em\u2003 \u3000ideographic\u3000", "\u0085nel\u0085", "\u2028ls\u2029ps", "\u180emvs\u180e", "\u200bzwsp\u200b", "\x0b\x0c vt ff",
        "\x01\x02\x7f\x1b[31m", "nul\x00inside\x00", "\U0010ffff \ue000 \ufffd", "... --- !!! ??? ~~~ ###", "((([[[{{{<<<>>>}}}]]])))",
        "https://example.org/a/b?c=d&e=%20#f", "C:\\dir\\file.txt", "snake_case camelCase PascalCase SCREAMING_CASE kebab-case",
        "<|endoftext|>", "<|im_start|>user\nHi<|im_end|>\n", "  <|im_end|>  ", "<|im_end|", "x<|endoftext|>y<|endoftext|><|endoftext|>",
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>", "<unk>", "Day day Day. aDay Dayb Day_ É-tok É-tok  [L]  x  [R]  y",
        "[L][R] [L] [R][S]a[S] [S]\u00e9[S] a[S] [S]", "\n[L]\n\n[R]\n", "[S][S]", "[S]\u24b6 [S]\u2167 [S]\u200d [S]_ [S]1 [S]\u00b2 [S]\u0301 [S]-",
        "[R]  [L]x[R]   [L]", "aa aaa a", "==--==", "1-2--3---4", "--", "-a-",
    ]
    rnd = random.Random(20)
    pools = ["abcdefgh   \n", "ABcd'sSlLtT ve", "0123456789., ", "éèüñçßøœ ", "日本語漢字かな。", "ابتثجح ", "😀👍🏽\u200d\ufe0f🇫🇷",
             " \t\n\r\u00a0\u2003\u3000\u0085", "!?.,;:-_/\\|<>[]{}()'\"", "e\u0301\u0323\u0327a\u030a", "\u1100\u1161\u11a8가"]
    for _ in range(70):
        pool = "".join(rnd.sample(pools, rnd.randint(1, 4)))
        fixed.append("".join(rnd.choice(pool) for _ in range(rnd.randint(1, 50))))
    fixed.append(CODE)
    return fixed


NFC = {"type": "NFC"}
ADDED = [
    added(0, "<|endoftext|>", True), added(1, "<|im_start|>", True), added(2, "<|im_end|>", True),
    added(2000, "[L]", True, lstrip=True), added(2001, "[R]", True, rstrip=True), added(2002, "[S]", single_word=True),
    added(2003, "E\u0301-tok"), added(2004, "Day", single_word=True, normalized=False), added(2005, "[L][R]"),
    added(2006, "  ", normalized=False), added(2007, "aa"), added(2008, "aaa"),
]
BL_PLAIN = byte_level(use_regex=False)
SETS = [
    ("bytelevel", "bytelevel.json", {}),
    ("llama3", "llama3.json", {}),
    ("digits", "digits.json", {}),
    ("partial", "partial.json", {}),
    ("partial fused", "partial.json", {"model.fuse_unk": True}),
    ("partial dropped", "partial.json", {"model.unk_token": None}),
    ("prefix space", "bytelevel.json", {"pre_tokenizer": byte_level(add_prefix_space=True)}),
    ("digits prefix space", "digits.json", {"pre_tokenizer": sequence(
        {"type": "Digits", "individual_digits": False}, byte_level(add_prefix_space=True))}),
    ("qwen", "llama3.json", {"normalizer": NFC, "pre_tokenizer": sequence(split(QWEN), BL_PLAIN), "model.ignore_merges": False}),
    ("o200k", "llama3.json", {"normalizer": {"type": "Sequence", "normalizers": [NFC]}, "pre_tokenizer": sequence(split(O200K), BL_PLAIN)}),
    ("deepseek", "llama3.json", {"pre_tokenizer": sequence(
        split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(PUNCT), BL_PLAIN)}),
    ("added", "bytelevel.json", {"added_tokens": ADDED}),
    ("added nfc", "bytelevel.json", {"added_tokens": ADDED, "normalizer": NFC}),
] + [
    ("split " + b + (" inverted" if inv else ""), "bytelevel.json", {"pre_tokenizer": sequence(split(r"[\s\-]", b, inv), BL_PLAIN)})
    for b in ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"] for inv in [False, True]
] + [
    ("split literal", "bytelevel.json", {"pre_tokenizer": sequence(split("--", "MergedWithNext", kind="String"), BL_PLAIN)}),
    ("split empty matches", "bytelevel.json", {"pre_tokenizer": sequence(split(r"a*"), BL_PLAIN)}),
]

WORDS = ["bytelevel", "llama3", "digits", "qwen", "o200k", "deepseek"]


def changed(doc, changes):
    doc = copy.deepcopy(doc)
    for path, value in changes.items():
        at, keys = doc, path.split(".")
        for k in keys[:-1]:
            at = at[k]
        at[keys[-1]] = value
    return doc


def long_case(tok, unit, times):
    ids = tok.encode(unit * times, add_special_tokens=False).ids
    joined = ",".join(map(str, ids))
    return {"unit": unit, "times": times, "count": len(ids), "sha256": hashlib.sha256(joined.encode()).hexdigest()}


def golden(shipped):
    all_texts = texts()
    sets = []
    for name, file, changes in SETS:
        tok = Tokenizer.from_str(json.dumps(changed(json.loads((HERE / file).read_text()), changes)))
        sets.append({"name": name, "tokenizer": file, "changes": changes,
                     "ids": [tok.encode(t, add_special_tokens=False).ids for t in all_texts]})
        if name in WORDS:  # where each word ends, in characters: a small vocabulary hides much of the splitting
            sets[-1]["words"] = [[end for _, (_, end) in tok.pre_tokenizer.pre_tokenize_str(t)] for t in all_texts]
    tok = Tokenizer.from_file(str(HERE / "bytelevel.json"))
    out = {"made_with": "tokenizers " + tokenizers.__version__, "texts": all_texts, "sets": sets,
           "long": [long_case(tok, u, n) for u, n in [("a", 100_000), ("ab", 40_000), (" ", 100_000), ("é", 30_000), ("if x {\n\t", 9_000)]],
           "shipped": []}
    for file in SHIPPED if shipped else []:
        raw = (pathlib.Path(shipped) / file).read_bytes()
        tok = Tokenizer.from_str(raw.decode())
        out["shipped"].append({"name": file, "sha256": hashlib.sha256(raw).hexdigest(),
                               "ids": [tok.encode(t, add_special_tokens=False).ids for t in all_texts]})
    body = json.dumps(out, ensure_ascii=True, separators=(",", ":"))
    (HERE / "golden.json").write_text(body.replace('{"name"', '\n{"name"') + "\n")


if __name__ == "__main__":
    make_tokenizers()
    golden(sys.argv[1] if len(sys.argv) > 1 else None)
