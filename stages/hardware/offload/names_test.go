package offload_test

import (
	"testing"

	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/offload"
)

// Names as the packages of ROCm 5.4 to 7 have them.
func TestByName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"opt/rocm/lib/rocblas/library/TensileLibrary_Type_HH_HPA_Contraction_l_Ailk_Bjlk_Cijk_Dijk_gfx942.co":                "gfx942 rocBLAS",
		"opt/rocm/lib/rocblas/library/TensileLibrary_Type_HH_HPA_Contraction_l_Ailk_Bjlk_Cijk_Dijk_fallback_gfx90a.hsaco":    "gfx90a rocBLAS",
		"opt/rocm/lib/rocblas/library/TensileLibrary_lazy_gfx1100.dat":                                                       "gfx1100 rocBLAS",
		"opt/rocm/lib/rocblas/library/Kernels.so-000-gfx90a-xnack+.hsaco":                                                    "gfx90a:xnack+ rocBLAS",
		"opt/rocm/lib/rocblas/library/Kernels.so-000-gfx90a-xnack-.hsaco":                                                    "gfx90a:xnack- rocBLAS",
		"opt/rocm/lib/rocblas/library/Kernels.so-000-gfx1030.hsaco":                                                          "gfx1030 rocBLAS",
		"opt/rocm/lib/rocblas/library/Kernels.so-000-gfx11-generic.hsaco":                                                    "gfx11-generic rocBLAS",
		"torch/lib/hipblaslt/library/TensileLibrary_BB_BB_HA_Bias_SAV_UA_Type_BB_HPA_Contraction_l_Ailk_Bljk_Cijk_gfx942.co": "gfx942 hipBLASLt",
		"torch/lib/hipblaslt/library/extop_gfx942.co":                                                                        "gfx942 hipBLASLt",
		"lib/hipblaslt/library/gfx950/TensileLibrary_HH_SS.co":                                                               "gfx950 hipBLASLt",
		"extop_gfx90a.co": "gfx90a hipBLASLt",
		"lib/hipsparselt/library/TensileLibrary_gfx942.co":           "gfx942 hipSPARSELt",
		"TensileLibrary_Type_ZZ_Contraction_l_gfx906-xnack-.co":      "gfx906:xnack- Tensile",
		"Kernels.so-000-gfx908-sramecc+-xnack-.hsaco":                "gfx908:sramecc+:xnack- Tensile",
		"share/miopen/db/gfx942.kdb":                                 "gfx942 MIOpen",
		"share/miopen/db/gfx90a68.HIP.fdb.txt":                       "gfx90a MIOpen",
		"share/miopen/db/gfx90a6e.db.txt":                            "gfx90a MIOpen",
		"share/miopen/db/gfx90878.HIP.fdb.txt":                       "gfx908 MIOpen",
		"share/miopen/db/gfx942130.HIP.fdb.txt":                      "gfx942 MIOpen",
		"share/miopen/db/gfx906_60.HIP.fdb.txt":                      "gfx906 MIOpen",
		"share/miopen/db/gfx1030_36.OpenCL.fdb.txt":                  "gfx1030 MIOpen",
		"share/miopen/db/gfx942_metadata.tn.model":                   "gfx942 MIOpen",
		"_rocm_sdk_libraries/.kpack/blas_lib_gfx1151.kpack":          "gfx1151 kpack archive",
		"torch/.kpack/torch_gfx1201.kpack":                           "gfx1201 kpack archive",
		"aiter_meta/hsa/gfx942/fmoe/silu/fmoe_bf16_pertokenFp8.co":   "gfx942 code object",
		"kernels_gfx1250.hsaco":                                      "gfx1250 code object",
		"lib/rocblas/library/Kernels.so-000-gfx1999.hsaco":           "gfx1999 rocBLAS", // a later one
		"lib/rocblas/library/Kernels.so-000-gfx90a:xnack+.hsaco":     "gfx90a:xnack+ rocBLAS",
		"hipblaslt/library/TensileLibrary_gfx942.co":                 "gfx942 hipBLASLt",
		"rocblas/library/TensileLibrary_Type_4xi8I_HPA_gfx942.dat":   "gfx942 rocBLAS",
		"lib/hipblaslt/library/hipblasltExtOpLibrary.dat":            "",
		"lib/hipblaslt/library/hipblasltTransform.hsaco":             "",
		"lib/rocblas/library/TensileManifest.txt":                    "",
		"lib/rocblas/library/TensileLibrary_gfx942.yaml":             "",
		"share/miopen/db/miopen.db":                                  "",
		"lib/librocblas.so.4":                                        "",
		"data/gfx942/prices.dat":                                     "",
		"lib/rocblas/library/TensileLibrary_gfx94.co":                "",
		"lib/rocblas/library/TensileLibrary_gfx942extra.co":          "",
		"share/miopen/db/gfx942zz.HIP.fdb.txt":                       "",
		"lib/rocblas/library/Kernels.so-000-gfx90a-xnack+-xnack-.co": "",
		"gfx":                     "",
		"":                        "",
		"/":                       "",
		"gfx942.kdb/..":           "",
		"notes about gfx942.kdb/": "",
	} {
		target, kind, ok := offload.ByName(name)
		got := ""
		if ok {
			got = target.String() + " " + kind
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func FuzzByName(f *testing.F) {
	for _, s := range []string{"rocblas/library/Kernels.so-000-gfx90a-xnack+.hsaco", "gfx90a68.HIP.fdb.txt", "hsa/gfx942/x.co", ".kpack/torch_gfx1201.kpack", "gfx942130.kdb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		target, kind, ok := offload.ByName(s)
		if !ok {
			if target != (arch.AMD{}) || kind != "" {
				t.Fatalf("%q: nothing found, and %s, %s", s, target, kind)
			}
			return
		}
		if again, err := arch.ParseAMD(target.String()); err != nil || again != target || kind == "" {
			t.Fatalf("%q: got %+v, %q, %v", s, target, kind, err)
		}
	})
}
