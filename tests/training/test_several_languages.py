"""One model for several target languages or kinds of sources: tags at the start of each source say which."""

from pathlib import Path

import pytest
from support.engines import translator_of
from support.small_training import TEXTS, TRAIN, assert_resumed
from support.small_training import train as trained
from support.tagged import back, both, mixing
from support.tiny import tiny_model

from transformer_mt import Translator
from transformer_mt.config.sections import DataConfig, InitFromConfig, TokenizerConfig
from transformer_mt.config.toml import load_config
from transformer_mt.ground.errors import InputError, MachineError
from transformer_mt.runs.directory import Run
from transformer_mt.tokenizer.prepared import Preparer
from transformer_mt.tokenizer.sentencepiece_model import learned_scores, load_model, write_model
from transformer_mt.tokenizer.tokenizer import Sampling, Tokenizer
from transformer_mt.training.fine_tuning import init_from_run
from transformer_mt.training.session import TrainingSession, open_training
from transformer_mt.translation.alternatives import find_alternatives
from transformer_mt.translation.translator import EMPTY

TAGS = ["<2en>", "<2fr>", "<#bt>"]


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    config = TokenizerConfig(kind=request.param, vocabulary_size=330)
    return Tokenizer.train([*TEXTS, "<2en> <2fr> <#bt>"], config, whole={"Hund": 0.1}, tags=TAGS)


def test_tags_are_the_last_tokens_of_the_configured_size(tokenizer: Tokenizer) -> None:
    assert tokenizer.tags == {tag: tokenizer.size - 3 + number for number, tag in enumerate(TAGS)}
    assert tokenizer.size == 330 or tokenizer.note
    assert tokenizer.pieces(tokenizer.tags.values()) == TAGS
    assert Tokenizer.parse(tokenizer.serialized, place="").tags == tokenizer.tags


def test_no_text_has_a_tag(tokenizer: Tokenizer) -> None:
    for text in ("<2en> der Hund", "<2fr>", "a<2en>", "<2de>", "<#bt> der Hund", "<#bt>", "a<#bt>"):
        ids = tokenizer.encode(text)
        assert not {*ids} & {*tokenizer.tags.values()}
        assert tokenizer.decode(ids) == text


def test_sources_start_with_the_tags_of_language_and_corpus_and_targets_do_not(tokenizer: Tokenizer) -> None:
    plain, ids = [tokenizer.encode(text) for text in TEXTS[:3]], tokenizer.tags
    for language, tag, tags in (
        ("fr", "", ["<2fr>"]), ("fr", "bt", ["<2fr>", "<#bt>"]), ("de", "bt", ["<#bt>"]),
        ("bt", "", []), ("", "fr", []),  # neither kind of tag is mistaken for the other
    ):  # fmt: skip
        toward = tokenizer.toward(language, tag=tag)
        assert toward.encode_batch(TEXTS[:3]) == [[*map(ids.get, tags), *each] for each in plain]
        assert toward.encode(TEXTS[0]) == [*map(ids.get, tags), *plain[0]]
        assert toward.target.encode_batch(TEXTS[:3]) == plain
        assert toward.decode(toward.encode(TEXTS[0])) == TEXTS[0]
        assert toward.toward("en").encode(TEXTS[0])[0] == ids["<2en>"]
        assert toward.toward("de", tag="other").encode(TEXTS[0]) == plain[0]


def test_sampled_sources_start_with_the_tag() -> None:
    tokenizer, sampling = Tokenizer.train(TEXTS, TokenizerConfig(vocabulary_size=330), tags=TAGS), Sampling(3, 0.5)
    drawn = tokenizer.encode_batch(TEXTS[:3], sampling=sampling)
    found = tokenizer.toward("fr").encode_batch(TEXTS[:3], sampling=sampling)
    assert found == [[tokenizer.tags["<2fr>"], *ids] for ids in drawn]


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


@pytest.mark.parametrize("other", ["<2a b>", f"<2{'x' * 101}>", "<2>", "<fr>", "<#>", "<#a b>"])
def test_vocabulary_with_other_control_symbols_is_refused(other: str) -> None:
    plain = Tokenizer.train(TEXTS, TokenizerConfig(vocabulary_size=330))
    scores = learned_scores(load_model(plain.serialized))
    Tokenizer.parse(write_model(scores, "unigram", [f"<2{'x' * 100}>"]), place="it")
    with pytest.raises(MachineError, match=r"^it: not a vocabulary that tmt trained"):
        Tokenizer.parse(write_model(scores, "unigram", [other]), place="it")


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


session = open_training


def test_languages_of_a_mixture_are_resolved_in_one_spelling(tmp_path: Path) -> None:
    config = both(tmp_path / "data")
    mixed = config.data.mixture["french"].model_copy(update={"source_language": "deu", "target_language": "auto"})
    found = session(mixing(config, french=mixed), tmp_path / "run")
    assert found.config.data.directions() == {"en": "de", "fr": "de"}
    assert list(found.tokenizer.tags) == ["<2en>", "<2fr>"]


def test_vocabulary_without_a_tag_is_refused(tmp_path: Path) -> None:
    config = both(tmp_path / "data")
    for name, one, other in (("plain", mixing(config), config), ("both", config, mixing(config))):
        session(one, tmp_path / name).trainer.save()
        vocabulary = config.tokenizer.model_copy(update={"from_run": str(tmp_path / name)})
        changed = other.model_copy(update={"tokenizer": vocabulary})
        if name == "both":
            assert session(changed, tmp_path / "run").tokenizer.tag  # the main language has one
        else:
            with pytest.raises(InputError, match=r"^data.mixture: the vocabulary has no tag <2(en|fr)>; "):
                session(changed, tmp_path / "run")


def test_language_that_no_tag_can_name_is_refused() -> None:
    with pytest.raises(InputError, match=r"^data.mixture: no tag can be made of the language 'a b'; "):
        Tokenizer.train(TEXTS, TokenizerConfig(vocabulary_size=330), tags=["<2en>", "<2a b>"])


def tags_of_sources(begun: TrainingSession) -> list[list[str]]:
    """The tags in each source of the training corpora."""
    pairs, tokenizer = begun.trainer.stream.encoded, begun.tokenizer
    sources = map(tokenizer.pieces, (pairs.source[row].tolist() for row in range(len(pairs))))
    return [[piece for piece in source if piece in tokenizer.tags] for source in sources]


def test_only_sources_of_the_tagged_corpus_start_with_its_tag(tmp_path: Path) -> None:
    begun = session(back(tmp_path / "data"), tmp_path / "run")
    assert list(begun.tokenizer.tags) == ["<#bt>"]
    assert begun.tokenizer.tag == ()  # validation and translation have none
    assert tags_of_sources(begun) == [[]] * len(TRAIN) + [["<#bt>"]] * len(TRAIN)
    assert Run.open(tmp_path / "run").config().data.mixture["back"].tag == "bt"


def test_a_tagged_corpus_resumes_bit_exactly_and_not_with_another_tag(tmp_path: Path) -> None:
    assert_resumed(lambda path: session(back(tmp_path / "data"), path), tmp_path)
    trained(session(back(tmp_path / "data"), tmp_path / "tagged"))
    with pytest.raises(InputError, match=r"data\.mixture"):
        session(back(tmp_path / "data", "other"), tmp_path / "tagged")


def test_a_run_with_a_tagged_corpus_can_be_fine_tuned_without_it(tmp_path: Path) -> None:
    config = back(tmp_path / "data")
    trained(session(config, tmp_path / "parent"))
    vocabulary = config.tokenizer.model_copy(update={"from_run": str(tmp_path / "parent")})
    plain = mixing(config).model_copy(update={"tokenizer": vocabulary})
    assert session(plain, tmp_path / "plain").tokenizer.tag == ()
    start = InitFromConfig(run=str(tmp_path / "parent"), weights=init_from_run(tmp_path / "parent").weights)
    assert session(config.model_copy(update={"init_from": start}), tmp_path / "again").tokenizer.tags


@pytest.mark.parametrize("tag", ["a b", "ä", "<s>", "x" * 31])
def test_tag_that_is_not_a_short_name_is_refused(tag: str) -> None:
    with pytest.raises(InputError, match=r"^data\.mixture\.back\.tag: "):
        load_config(None, [f'data.mixture.back={{corpus="a", tag="{tag}"}}'])


def test_empty_lines_stay_empty(tokenizer: Tokenizer) -> None:
    translator = translator_of(tiny_model(vocabulary=tokenizer.size), tokenizer.toward("en"))
    assert translator.translate(["", " "]) == [[EMPTY], [EMPTY]]
    sentence = translator.model.prepare.sentence("")
    assert find_alternatives(translator.model, sentence, EMPTY, count=2) == []


@pytest.mark.slow
def test_the_tag_decides_the_language(tmp_path: Path) -> None:
    large = ("training.steps=200", "training.validate_every=200", "model.width=32", "schedule.learning_rate=0.01")
    trained(session(both(tmp_path / "data", *large), tmp_path / "run"))
    translator = Translator.load(tmp_path / "run", device="cpu")
    french = Translator.of(translator.model.toward("fr"))
    source = TRAIN[0].source
    assert translator.translate([source])[0][0].text.islower()
    assert french.translate([source])[0][0].text.isupper()
    assert french.model.config.data.target_language == "fr"
    with pytest.raises(InputError, match=r"^to: 'es' is unknown; "):
        translator.model.toward("es")
