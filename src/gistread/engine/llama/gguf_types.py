"""Numbers that ggml assigns to the types in a GGUF file."""

import re
from types import MappingProxyType

# Types of metadata values: number -> struct format.
SCALARS = MappingProxyType({0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"})
STRING, ARRAY = 8, 9

# Types of tensors, as in ggml.h: number, name, values a block / bytes a block.
_TENSOR_TYPES = """
    0 F32 1/4, 1 F16 1/2, 2 Q4_0 32/18, 3 Q4_1 32/20, 6 Q5_0 32/22, 7 Q5_1 32/24, 8 Q8_0 32/34, 9 Q8_1 32/36
    10 Q2_K 256/84, 11 Q3_K 256/110, 12 Q4_K 256/144, 13 Q5_K 256/176, 14 Q6_K 256/210, 15 Q8_K 256/292
    16 IQ2_XXS 256/66, 17 IQ2_XS 256/74, 18 IQ3_XXS 256/98, 19 IQ1_S 256/50, 20 IQ4_NL 32/18, 21 IQ3_S 256/110
    22 IQ2_S 256/82, 23 IQ4_XS 256/136, 24 I8 1/1, 25 I16 1/2, 26 I32 1/4, 27 I64 1/8, 28 F64 1/8, 29 IQ1_M 256/56
    30 BF16 1/2, 34 TQ1_0 256/54, 35 TQ2_0 256/66, 39 MXFP4 32/17, 40 NVFP4 64/36, 41 Q1_0 128/18, 42 Q2_0 64/18
"""
TENSOR_TYPES = MappingProxyType(
    {
        int(number): (name, int(values), int(size))
        for number, name, values, size in re.findall(r"(\d+) (\w+) (\d+)/(\d+)", _TENSOR_TYPES)
    }
)

# `general.file_type`: usual names for mixes of tensor types.
FILE_TYPES = MappingProxyType(
    {
        **dict(enumerate(("F32", "F16", "Q4_0", "Q4_1"))),
        **dict(enumerate(("Q8_0", "Q5_0", "Q5_1", "Q2_K", "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S", "Q4_K_M"), 7)),
        **dict(enumerate(("Q5_K_S", "Q5_K_M", "Q6_K", "IQ2_XXS", "IQ2_XS", "Q2_K_S", "IQ3_XS", "IQ3_XXS"), 16)),
        **dict(enumerate(("IQ1_S", "IQ4_NL", "IQ3_S", "IQ3_M", "IQ2_S", "IQ2_M", "IQ4_XS", "IQ1_M", "BF16"), 24)),
        **dict(enumerate(("TQ1_0", "TQ2_0", "MXFP4", "NVFP4", "Q1_0", "Q2_0"), 36)),
    }
)
