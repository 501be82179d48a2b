"""What a request about a sentence names: JSON objects with exact keys."""

from pydantic import BaseModel, ConfigDict


class SentenceRequest(BaseModel):
    """A run, by name, and a sentence."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    run: str
    source: str


class PairRequest(SentenceRequest):
    """A sentence with a translation, for a view."""

    target: str
