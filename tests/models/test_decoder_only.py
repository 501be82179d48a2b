"""A custom model: a decoder that reads the source as a prefix (Liu et al. 2018, §4.2.3)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from support.command_line import PAIRS, settings, write_corpus
from support.tiny import sentences, targets
from torch.nn import functional as F

from transformer_mt.attention.build_attention import build_attention, build_position
from transformer_mt.cli.main import run
from transformer_mt.config.sections import CHOSEN, Config, TransformerConfig, add_section
from transformer_mt.models.blocks import Layers
from transformer_mt.models.build_model import MODELS, build_embeddings, build_layer_factory
from transformer_mt.models.layers import EncoderLayer
from transformer_mt.models.seq2seq import Seq2Seq
from transformer_mt.tokenizer.symbols import PAD
from transformer_mt.translation.search import beam_search


class DecoderOnlyConfig(TransformerConfig):
    """One stack that reads the source, then writes the target."""

    kind: str = "decoder_only"


@dataclass(frozen=True)
class PrefixState:
    """The keys and values of every layer, including the source, and the next target position."""

    layers: tuple
    mask: torch.Tensor
    length: int = 0

    def select(self, rows):
        return replace(self, layers=tuple(layer.select(rows) for layer in self.layers), mask=self.mask[rows])


class DecoderOnly(Seq2Seq):
    """p(y_t | x, y_<t) from one causal stack over x and y, each with its own positions."""

    def __init__(self, config, vocabulary_size):
        super().__init__()
        self.max_length = config.max_length
        embeddings = build_embeddings(config, build_position(config.attention.position, None), vocabulary_size)
        self.source_embedding, self.target_embedding = embeddings.source, embeddings.target
        attention = build_attention(config.attention, width=config.width)
        parts = replace(build_layer_factory(config), attention=lambda _: attention("decoder"))
        self.layers = Layers(EncoderLayer(parts) for _ in range(config.decoder_layers))
        self.norm, self.output = parts.norm(), embeddings.output()

    def attention_stacks(self):
        return {"decoder": [layer.self_attention for layer in self.layers]}

    def start(self, source):
        real = source != PAD
        return self.go_on(self.source_embedding(source), real, PrefixState((None,) * len(self.layers), real[:, :0]))[1]

    def read(self, target, state):
        x = self.target_embedding(target, start=state.length)
        x, following = self.go_on(x, target != PAD, state)
        return self.norm(x, target != PAD), replace(following, length=state.length + target.shape[1])

    def go_on(self, x, real, state):
        layers, mask = [], torch.cat((state.mask, real), dim=1)
        for layer, past in zip(self.layers, state.layers, strict=True):
            x, h = layer.self_residual.enter(x, real)
            new = layer.self_attention.key_values(h)
            layers.append(past.append(new) if past else new)
            x = layer.self_residual.after(x, layer.self_attention(h, replace(layers[-1], mask=mask)), real)
            x, h = layer.feed_forward_residual.enter(x, real)
            x = layer.feed_forward_residual.after(x, layer.feed_forward(h, real), real)
        return x, replace(state, layers=tuple(layers), mask=mask)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(MODELS, "decoder_only", DecoderOnly)
    add_section("model", DecoderOnlyConfig)
    yield
    del CHOSEN["model"].table["decoder_only"]
    Config.model_rebuild(force=True)


def model(**changes: object) -> DecoderOnly:
    config = DecoderOnlyConfig(width=12, decoder_layers=2, feed_forward_width=20, max_length=31, **changes)
    torch.manual_seed(7)
    return DecoderOnly(config, 13).eval()


@pytest.mark.usefixtures("float64")
@torch.no_grad()
def test_its_state_survives_search_and_padding() -> None:
    network, source = model(), sentences(5, 3, 2)
    target = targets(7, 7, 7)
    expected, state = network(source, target), network.start(F.pad(source, (0, 3), value=PAD))
    for t in range(7):
        logits, state = network.decode(target[:, t : t + 1], state)
        torch.testing.assert_close(logits[:, 0], expected[:, t], rtol=0.0, atol=1e-10)
    for beam in (1, 3):
        together = beam_search(network, source, beam=beam, alpha=0.6, limits=[9, 9, 9], n_best=1)
        for row, found in zip(source, together, strict=True):
            (alone,) = beam_search(network, row[None, row != PAD], beam=beam, alpha=0.6, limits=[9], n_best=1)
            assert [each.tokens for each in found] == [each.tokens for each in alone]


OTHER_TOKENS = "model.kind: the decoder self-attention of this model is over other tokens than this view shows"
NO_LINKS = "run: this model has no cross-attention to link words by; choose another model"
GERMAN, ENGLISH = PAIRS[0]
# The error of each command, or None.
COMMANDS = {
    ("translate", GERMAN): None,
    ("translate", GERMAN, "--beam", "1"): None,
    ("score", "--data", "data"): None,
    ("evaluate", "--data", "data"): None,
    ("lens", GERMAN): None,
    ("attend", GERMAN, "--method", "erasure"): None,
    ("attend", GERMAN, "--method", "gradient"): "--method: gradient needs a Transformer or a recurrent model; choose",
    ("attend", GERMAN): OTHER_TOKENS,
    ("attend", GERMAN, "--stack", "decoder", "--head", "1"): OTHER_TOKENS,
    ("explain", GERMAN): OTHER_TOKENS,
    ("explain", GERMAN, "--stack", "encoder"): "--stack: 'encoder' is unknown; ",
    ("heads", "--data", "data"): OTHER_TOKENS,
    ("align", GERMAN, "--target", ENGLISH): NO_LINKS,
    ("plot",): None,
}


@pytest.mark.slow
def test_it_trains_translates_and_every_view_works_or_explains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path / "data")
    kind = ("--set", "model.kind=decoder_only")
    assert run(["train", "--data", "data", "--run-dir", "run", *settings(training__steps="30"), *kind]) == 0
    losses = [float(loss) for loss in re.findall(r"validation loss (\S+)", Path("run/train.log").read_text("utf-8"))]
    assert losses[-1] < 0.8 * losses[0]
    capsys.readouterr()
    for (command, *arguments), problem in COMMANDS.items():
        code = run([command, *arguments, "--model", "run"] if command != "plot" else [command, "run"])
        out, err = capsys.readouterr()
        assert code == (2 if problem else 0), f"{command} {arguments}: {err}"
        assert bool(out) != bool(problem)
        assert "Traceback" not in err
        assert problem is None or err.splitlines()[-1].startswith(f"tmt: error: {problem}"), err
