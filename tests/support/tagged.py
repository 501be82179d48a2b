"""Small configurations with tags: two target languages, or sources of another kind."""

from pathlib import Path

from support.small_training import TRAIN, small_config, write_corpus
from transformer_mt.config.sections import Config, MixedConfig
from transformer_mt.corpus.pairs import SentencePair


def shouted(pair: SentencePair) -> SentencePair:
    return SentencePair(pair.source, pair.target.upper())


def both(folder: Path, *overrides: str) -> Config:
    """The small corpus in German and English, and the same with shouted targets, called French."""
    if not folder.exists():
        write_corpus(folder)
    loud = folder.parent / "loud.de-fr.tsv"
    loud.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in map(shouted, TRAIN)), "utf-8")
    french = f'data.mixture.french={{corpus="{loud}", target_language="fr"}}'
    sizes = ("tokenizer.vocabulary_size=400", "model.max_length=97", "training.batch_tokens=300")
    return small_config(f"data.corpus={folder}", french, *sizes, *overrides)


def mixing(config: Config, **mixture: MixedConfig) -> Config:
    """The configuration with this mixture."""
    return config.model_copy(update={"data": config.data.model_copy(update={"mixture": mixture})})


def back(folder: Path, tag: str = "bt") -> Config:
    """The small corpus, mixed with a copy of itself under a tag."""
    config = both(folder)
    copy = folder.parent / "back.de-en.tsv"
    copy.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in TRAIN), "utf-8")
    return mixing(config, back=MixedConfig(corpus=str(copy), tag=tag))
