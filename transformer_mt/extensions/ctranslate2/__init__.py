"""CTranslate2, a fast program: as an engine of `tmt`, and as a program to export to. Read in this order:

ctranslate2_package  the optional package CTranslate2
ctranslate2_weights  conversion of a model to CTranslate2's format
conversion_cache     converted models, cached in the user's cache folder
ctranslate2_engine   CTranslate2 as a translation engine
ctranslate2_format   what an exported folder holds
"""

from transformer_mt.ground.plugins import EngineEntry, Extension

QUANTIZATIONS = ("int8", "int16", "bfloat16", "float16")

EXTENSION = Extension(
    engines={
        "ctranslate2": EngineEntry(
            f"{__name__}.ctranslate2_engine:open_engine", f"{__name__}.ctranslate2_package:suits", QUANTIZATIONS
        )
    },
    formats={"ctranslate2": f"{__name__}.ctranslate2_format:FORMAT"},
    uses=["export"],
)
