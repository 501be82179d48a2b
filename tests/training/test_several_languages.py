"""One model for several target languages: a tag at the start of each source says which."""

import json
from pathlib import Path

import pytest
from support.small_training import TRAIN, VALIDATION, assert_resumed, small_config
from support.small_training import train as trained

from transformer_mt import Translator
from transformer_mt.config.sections import Config, DataConfig, TokenizerConfig
from transformer_mt.corpus.pairs import SentencePair
from transformer_mt.errors import InputError, MachineError
from transformer_mt.export.export_run import export_run
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.prepared import Preparer
from transformer_mt.tokenizer.sentencepiece_model import learned_scores, load_model, write_model
from transformer_mt.tokenizer.tokenizer import Sampling, Tokenizer
from transformer_mt.training.session import TrainingSession, open_training
from transformer_mt.translation.alternatives import find_alternatives

TEXTS = [text for pair in TRAIN for text in (pair.source, pair.target)]


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    config = TokenizerConfig(kind=request.param, vocabulary_size=330)
    return Tokenizer.train([*TEXTS, "<2en> <2fr>"], config, whole={"Hund": 0.1}, tags=["en", "fr"])


def test_tags_are_the_last_tokens_of_the_configured_size(tokenizer: Tokenizer) -> None:
    assert tokenizer.tags == {"en": tokenizer.size - 2, "fr": tokenizer.size - 1}
    assert tokenizer.size == 330 or tokenizer.note
    assert tokenizer.pieces(tokenizer.tags.values()) == ["<2en>", "<2fr>"]
    assert Tokenizer.parse(tokenizer.serialized, place="").tags == tokenizer.tags


def test_no_text_has_a_tag(tokenizer: Tokenizer) -> None:
    for text in ("<2en> der Hund", "<2fr>", "a<2en>", "<2de>"):
        ids = tokenizer.encode(text)
        assert not {*ids} & {*tokenizer.tags.values()}
        assert tokenizer.decode(ids) == text


def test_sources_toward_a_language_start_with_its_tag_and_targets_do_not(tokenizer: Tokenizer) -> None:
    plain, french = [tokenizer.encode(text) for text in TEXTS[:3]], tokenizer.toward("fr")
    tag = tokenizer.tags["fr"]
    assert french.encode_batch(TEXTS[:3]) == [[tag, *ids] for ids in plain]
    assert french.encode(TEXTS[0]) == [tag, *plain[0]]
    assert french.target.encode_batch(TEXTS[:3]) == plain
    assert french.decode(french.encode(TEXTS[0])) == TEXTS[0]
    sampling = Sampling(3, 0.5)
    drawn = tokenizer.encode_batch(TEXTS[:3], sampling=sampling)
    assert french.encode_batch(TEXTS[:3], sampling=sampling) == [[tag, *ids] for ids in drawn]
    assert french.toward("en").encode(TEXTS[0])[0] == tokenizer.tags["en"]


def test_a_tag_belongs_to_the_first_word(tokenizer: Tokenizer) -> None:
    plain = Preparer(tokenizer).sentence("der Hund sieht die Katze")
    tagged = Preparer(tokenizer.toward("en")).sentence("der Hund sieht die Katze")
    assert tagged.words_of_piece == ((0,), *plain.words_of_piece)
    assert len(tagged.words_of_piece) == len(tagged.ids)
    assert Preparer(tokenizer.toward("en")).sentence("").words_of_piece == ((),)


def test_vocabulary_with_one_language_has_no_tags() -> None:
    plain = Tokenizer.train(TEXTS, TokenizerConfig(vocabulary_size=330))
    assert plain.tags == {}
    assert plain.toward("fr") is plain
    assert plain.target is plain


@pytest.mark.parametrize("languages", [["a b"], ["x" * 101], [""]])
def test_vocabulary_with_other_control_symbols_is_refused(languages: list[str]) -> None:
    plain = Tokenizer.train(TEXTS, TokenizerConfig(vocabulary_size=330))
    scores = learned_scores(load_model(plain.serialized))
    Tokenizer.parse(write_model(scores, "unigram", ["x" * 100]), place="it")
    with pytest.raises(MachineError, match=r"^it: not a vocabulary that tmt trained"):
        Tokenizer.parse(write_model(scores, "unigram", languages), place="it")


def test_directions_have_the_main_one_first() -> None:
    mixture = {
        "french": {"corpus": "a", "source_language": "en", "target_language": "fr"},
        "news": {"corpus": "b"},
        "spanish": {"corpus": "c", "target_language": "es"},
        "again": {"corpus": "d", "source_language": "es", "target_language": "fr"},
    }
    data = DataConfig.model_validate({"source_language": "de", "target_language": "en", "mixture": mixture})
    assert list(data.directions().items()) == [("en", "de"), ("fr", "en"), ("es", "de")]
    assert list(DataConfig(source_language="de", target_language="en").directions().items()) == [("en", "de")]


def shouted(pair: SentencePair) -> SentencePair:
    return SentencePair(pair.source, pair.target.upper())


def both(folder: Path, *overrides: str) -> Config:
    """The small corpus in German and English, and the same with shouted targets, called French."""
    folder.mkdir(exist_ok=True)
    for name, pairs in (("train", TRAIN), ("val", VALIDATION)):
        lines = (json.dumps({"de": pair.source, "en": pair.target}) + "\n" for pair in pairs)
        (folder / f"{name}.jsonl").write_text("".join(lines), "utf-8")
    loud = folder.parent / "loud.de-fr.tsv"
    loud.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in map(shouted, TRAIN)), "utf-8")
    french = f'data.mixture.french={{corpus="{loud}", target_language="fr"}}'
    sizes = ("tokenizer.vocabulary_size=400", "model.max_length=97", "training.batch_tokens=300")
    return small_config(f"data.corpus={folder}", french, *sizes, *overrides)


def session(config: Config, path: Path) -> TrainingSession:
    return open_training(config, path)


def test_sources_of_each_corpus_start_with_its_tag(tmp_path: Path) -> None:
    stream = session(both(tmp_path / "data"), tmp_path / "run").trainer.stream
    tags = stream._tokenizer.tags
    assert list(tags) == ["en", "fr"]
    pairs = stream.encoded
    assert len(pairs) == 2 * len(TRAIN)
    found = [int(pairs.source[row][0]) for row in range(len(pairs))]
    assert found == [tags["en"]] * len(TRAIN) + [tags["fr"]] * len(TRAIN)


def test_resumes_bit_exactly(tmp_path: Path) -> None:
    assert_resumed(lambda path: session(both(tmp_path / "data"), path), tmp_path)


def test_languages_of_a_mixture_are_resolved_in_one_spelling(tmp_path: Path) -> None:
    config = both(tmp_path / "data")
    mixed = config.data.mixture["french"].model_copy(update={"source_language": "deu", "target_language": "auto"})
    data = config.data.model_copy(update={"mixture": {"french": mixed}})
    found = session(config.model_copy(update={"data": data}), tmp_path / "run")
    assert found.config.data.directions() == {"en": "de", "fr": "de"}
    assert list(found.tokenizer.tags) == ["en", "fr"]


@pytest.mark.parametrize(("parent", "target"), [("plain", "fr"), ("both", "es"), ("both", "")])
def test_vocabulary_without_a_tag_is_refused(parent: str, target: str, tmp_path: Path) -> None:
    config = both(tmp_path / "data")
    data = config.data if parent == "both" else config.data.model_copy(update={"mixture": {}})
    trained(session(config.model_copy(update={"data": data}), tmp_path / "parent"))
    mixed = config.data.mixture["french"].model_copy(update={"target_language": target})
    if target == "es":
        (tmp_path / "loud.de-es.tsv").write_bytes((tmp_path / "loud.de-fr.tsv").read_bytes())
        mixed = mixed.model_copy(update={"corpus": str(tmp_path / "loud.de-es.tsv")})
    vocabulary = config.tokenizer.model_copy(update={"from_run": str(tmp_path / "parent")})
    update = {"data": config.data.model_copy(update={"mixture": {"other": mixed} if target else {}})}
    changed = config.model_copy(update=update | {"tokenizer": vocabulary})
    if not target:
        assert session(changed, tmp_path / "run").tokenizer.tag  # the main language has one
        return
    with pytest.raises(InputError, match=rf"^data.mixture: the vocabulary has no tag for .+ (en|{target}); "):
        session(changed, tmp_path / "run")


def test_language_that_no_tag_can_name_is_refused() -> None:
    with pytest.raises(InputError, match=r"^data.mixture: no tag can be made of the language 'a b'; "):
        Tokenizer.train(TEXTS, TokenizerConfig(vocabulary_size=330), tags=["en", "a b"])


@pytest.mark.slow
def test_empty_lines_stay_empty(tmp_path: Path) -> None:
    trained(session(both(tmp_path / "data"), tmp_path / "run"))
    translator = Translator.load(tmp_path / "run", device="cpu")
    ranked = translator.translate(["", " ", TRAIN[0].source])
    assert [one.text for one, *_ in ranked[:2]] == ["", ""]
    (line,) = translator.model.prepare.lines([""], split=False)
    assert find_alternatives(translator.model, line.sentences[0], ranked[0][0], count=2) == []
    assert find_alternatives(translator.model, line.sentences[0], ranked[2][0], count=2) == []


@pytest.mark.slow
def test_script_of_an_export_writes_the_tag(tmp_path: Path) -> None:
    trained(session(both(tmp_path / "data"), tmp_path / "run"))
    export_run(Run.open(tmp_path / "run"), tmp_path / "out", VALIDATION, to="ctranslate2")
    assert "[['<2en>'] + pieces.encode(" in (tmp_path / "out/translate.py").read_text("utf-8")


@pytest.mark.slow
def test_the_tag_decides_the_language(tmp_path: Path) -> None:
    large = ("training.steps=400", "training.validate_every=400", "model.width=32", "schedule.learning_rate=0.01")
    trained(session(both(tmp_path / "data", *large), tmp_path / "run"))
    translator = Translator.load(tmp_path / "run", device="cpu")
    french = Translator.of(translator.model.toward("fr"))
    source = TRAIN[0].source
    assert translator.translate([source])[0][0].text.islower()
    assert french.translate([source])[0][0].text.isupper()
    assert french.model.config.data.target_language == "fr"
    with pytest.raises(InputError, match=r"^to: 'es' is unknown; "):
        translator.model.toward("es")
