"""The recurrent encoder–decoder, with attention (Bahdanau et al. 2014; Luong et al. 2015) or without."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from typing_extensions import override

from transformer_mt.attention.hooks import show
from transformer_mt.attention.multihead import InspectableAttention, KeyValues
from transformer_mt.attention.normalisers import Softmax
from transformer_mt.attention.projections import Projections
from transformer_mt.attention.scores import Score
from transformer_mt.attention.shapes import QueryStates, Rows, Source, States, Target
from transformer_mt.models.blocks import Layers
from transformer_mt.models.dropout import Dropout
from transformer_mt.models.hypotheses import Hypotheses
from transformer_mt.models.positionwise import Embeddings
from transformer_mt.models.seq2seq import Memory, Seq2Seq, Stacks, State
from transformer_mt.tokenizer.symbols import PAD

TokenState = Float[Tensor, "B D"]
LayerStates = tuple[TokenState, ...]
Gates = Float[Tensor, "B 3*D"]


class SourceReader(nn.Module, ABC):
    """The decoder's view of the source before each target token: the context c_t of width D."""

    @abstractmethod
    def key_values(self, memory: Memory) -> KeyValues:
        """Compute the keys and values of the source, once per sentence."""

    @abstractmethod
    def forward(self, states: QueryStates, source: KeyValues) -> QueryStates:
        """Return c_t. The states are s_{t−1} of the decoder's last layer, one for each hypothesis of a sentence."""


class SourceAttention(SourceReader, InspectableAttention):
    """c_t = Σ_k α_tk h_k, α_t = softmax(e(s_{t−1}, h_k)) over the real source tokens (Bahdanau et al. 2014, §3.1).

    The values are the encoder's states themselves. A source without tokens yields zeros.
    """

    formulas: Mapping[str, str] = {
        "h": "s_{t−1}",
        "α_j": "exp(e_j) / Σ_j exp(e_j)",
        "v_j": "h_j",
        "head": "Σ_j α_j v_j",
        "o": "head",
        "o_j": "α_j v_j",
        "o_r": "head_r",
        "y": "head",
    }

    def __init__(self, projections: Projections, score: Score) -> None:
        super().__init__(heads=1)
        self.score = score
        self.projections = projections
        self.normaliser = Softmax()

    @override
    def key_values(self, memory: Memory) -> KeyValues:
        return KeyValues(self.projections.keys(memory.states), memory.states[:, None], memory.mask)

    @override
    def forward(self, states: QueryStates, source: KeyValues) -> QueryStates:
        assert source.mask is not None
        queries = self.projections.queries(show(self, "h", states, "B Q D"))  # B W D -> B 1 W dk
        queries = show(self.projections, "q", queries, "B H Q d")
        keys = show(self.projections, "k_j", source.keys, "B H K d")
        scores = show(self.score, "e_j", self.score(queries, keys), "B H Q K")
        weights = show(self, "α_j", self.normaliser(scores, source.mask[:, None, None]), "B H Q K")
        heads = show(self, "head", weights @ show(self, "v_j", source.values, "B H K d"), "B H Q d")
        return show(self, "y", self.masked(heads)[:, 0], "B Q D")


class FinalStates(SourceReader):
    """c_t = [h→_S ; h←_1] for every t: one fixed vector for the whole sentence, and no attention.

    Sutskever et al. 2014 and Cho et al. 2014, §2.2, whose encoders pass on their state after the last token. In a
    bidirectional encoder, this is the forward state at the last real token and the backward state at the first.
    """

    @override
    def key_values(self, memory: Memory) -> KeyValues:
        forward, backward = memory.states.chunk(2, dim=-1)
        last = (memory.mask.sum(dim=1) - 1).clamp(min=0)
        ends = torch.cat((forward[torch.arange(len(last), device=last.device), last], backward[:, 0]), dim=-1)
        return KeyValues(ends[:, None, None], ends[:, None, None])

    @override
    def forward(self, states: QueryStates, source: KeyValues) -> QueryStates:
        return source.values[:, 0].expand_as(states)


class Encoder(nn.Module):
    """Stacked bidirectional GRUs: h_k = [h→_k ; h←_k], each direction of width D/2.

    Bahdanau et al. 2014, §3.2. Dropout acts between layers, not along the sentence (Zaremba et al. 2014).
    """

    def __init__(self, *, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = Layers(nn.GRU(width, width // 2, batch_first=True, bidirectional=True) for _ in range(layers))
        self.dropout = Dropout(dropout)

    def forward(self, x: States, lengths: Int[Tensor, " B"]) -> States:
        """Return the states of real tokens, with zeros after them. The backward GRU starts at the last real token.

        At least one token per sentence is read.
        """
        packed = pack_padded_sequence(x, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
        first, *others = self.layers
        packed, _ = first(packed)
        for layer in others:
            packed, _ = layer(packed._replace(data=self.dropout(packed.data)))
        states, _ = pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])
        return states


class Cell(nn.Module):
    """A gated recurrent unit that takes the input's gates precomputed, because they do not depend on the state.

    s_t = (1 − z) ∘ n + z ∘ s, r = σ(i_r + h_r), z = σ(i_z + h_z), n = tanh(i_n + r ∘ h_n), with the gates
    i = W x + b and h = U s + b'. Cho et al. 2014, §2.3, but r acts after U, as in torch and cuDNN.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.input_gates = nn.Linear(width, 3 * width)
        self.state_gates = nn.Linear(width, 3 * width)

    def forward(self, state: TokenState, gates: Gates) -> TokenState:
        """Return the next state, given the gates of the input, W x + b."""
        width = state.shape[1]
        from_state = self.state_gates(state)
        reset, keep = (gates + from_state)[:, : 2 * width].sigmoid().chunk(2, dim=1)
        new = torch.addcmul(gates[:, 2 * width :], reset, from_state[:, 2 * width :]).tanh()
        return torch.lerp(new, state.to(new.dtype), keep)


@dataclass(frozen=True)
class RecurrentState:
    """The state of every decoder layer per hypothesis, and the keys and values per sentence."""

    layers: LayerStates
    source: KeyValues
    hypotheses: Hypotheses

    def select(self, rows: Rows) -> Self:
        """Select the hypotheses `rows`."""
        hypotheses, left = self.hypotheses.select(rows)
        source = self.source if left is None else self.source.select(left)
        return type(self)(tuple(layer[rows] for layer in self.layers), source, hypotheses)


class Decoder(nn.Module):
    """Stacked GRUs: s_t from s_{t−1}, y_{t−1} and c_t (Bahdanau et al. 2014, §A.2.2).

    The first layer reads y_{t−1} and c_t, each other layer the one below. The last layer's s_{t−1} queries the source.
    """

    formulas: ClassVar = {"x": "s_{t−1}", "i_c": "y W, for the gates r, z and n", "x′": "s_t"}

    def __init__(self, reader: SourceReader, *, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.reader = reader
        self.start_projection = nn.Linear(width // 2, layers * width)
        self.context_gates = nn.Linear(width, 3 * width, bias=False)
        self.cells = Layers(Cell(width) for _ in range(layers))
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> RecurrentState:
        """s_0 = tanh(W_s h←_1 + b) for every layer, from the backward state that has read the whole source.

        Bahdanau et al. 2014, §A.2.2.
        """
        backward = memory.states[:, 0].chunk(2, dim=-1)[1]
        layers = self.start_projection(backward).tanh().chunk(len(self.cells), dim=-1)
        return RecurrentState(layers, self.reader.key_values(memory), Hypotheses(len(backward)))

    def forward(self, embedded: States, state: RecurrentState) -> tuple[States, States, RecurrentState]:
        """Return s_t of the last layer and c_t for every target token, and the next state."""
        first, *_ = self.cells
        token_gates = first.input_gates(embedded)  # B T 3D, for all tokens at once
        layers = state.layers
        states = []
        contexts = []
        for gates in token_gates.unbind(dim=1):
            last = show(self, "x", layers[-1], "B D")
            asking = state.hypotheses.by_sentence(last[:, None])
            context = state.hypotheses.by_hypothesis(self.reader(asking, state.source))[:, 0]
            gates = gates + show(self, "i_c", self.context_gates(context), "B D")
            *lower, last = self.step((*layers[:-1], last), gates)
            layers = (*lower, show(self, "x′", last, "B D"))
            states.append(layers[-1])
            contexts.append(context)
        return torch.stack(states, dim=1), torch.stack(contexts, dim=1), replace(state, layers=layers)

    def step(self, layers: LayerStates, gates: Gates) -> LayerStates:
        """Return the next state of every layer, given the input gates of the first."""
        first, *others = self.cells
        following = [first(layers[0], gates)]
        for cell, state in zip(others, layers[1:], strict=True):
            following.append(cell(state, cell.input_gates(self.dropout(following[-1]))))
        return tuple(following)


class Readout(nn.Module):
    """t_j = max(u_{2j−1}, u_{2j}), u = W [s_t ; c_t ; y_{t−1}] + b: a maxout layer of width D.

    Goodfellow et al. 2013; Bahdanau et al. 2014, §A.2.2, but with s_t instead of s_{t−1}.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.projection = nn.Linear(3 * width, 2 * width)
        nn.init.xavier_uniform_(self.projection.weight)
        nn.init.zeros_(self.projection.bias)

    def forward(self, states: States, contexts: States, embedded: States) -> States:
        """Apply the layer to each target token separately."""
        units = self.projection(torch.cat((states, contexts, embedded), dim=-1))
        return units.reshape(*states.shape, 2).amax(dim=-1)  # B T 2D -> B T D


class RecurrentSeq2Seq(Seq2Seq):
    """A recurrent encoder–decoder that reads source and target token by token; logits t_j W + b.

    Bahdanau et al. 2014. Embeddings and output matrix are scaled and shared as in tmt's Transformer.
    """

    def __init__(
        self, embeddings: Embeddings, encoder: Encoder, decoder: Decoder, *, dropout: float, max_length: int
    ) -> None:
        super().__init__()
        self.max_length = max_length
        self.source_embedding = embeddings.source
        self.target_embedding = embeddings.target
        self.encoder = encoder
        self.decoder = decoder
        self.readout = Readout(self.target_embedding.table.embedding_dim)
        self.dropout = Dropout(dropout)
        self.output = embeddings.output()

    @override
    def attention_stacks(self) -> Stacks:
        reader = self.decoder.reader
        return {"cross": [reader]} if isinstance(reader, SourceAttention) else {}

    def encode(self, source: Source) -> Memory:
        """The states of the source tokens, zero at padding."""
        mask = source != PAD
        states = self.encoder(self.source_embedding(source), mask.sum(dim=1))
        return Memory(states.masked_fill(~mask[:, :, None], 0.0), mask)

    @override
    def start(self, source: Source) -> RecurrentState:
        return self.decoder.start(self.encode(source))

    @override
    def read(self, target: Target, state: State) -> tuple[States, RecurrentState]:
        assert isinstance(state, RecurrentState)
        embedded = self.target_embedding(target)
        states, contexts, following = self.decoder(embedded, state)
        return self.dropout(self.readout(states, contexts, embedded)), following
