"""TMX files, as corpora."""

from transformer_mt.ground.plugins import Extension

EXTENSION = Extension(readers={"tmx": f"{__name__}.tmx:TranslationMemory"})
