"""The log-probability below which a run's translations are doubtful."""

from typing import Annotated

from pydantic import Field

from transformer_mt.config.sections import Section

DOUBT = "doubt.json"


class Doubt(Section):
    """A translation with a lower mean ln p per token than `threshold` is doubtful.

    `right` is the number of translations that chose it (see `training.doubt`). The default is for models without such a
    choice. It is low, so that few right translations of a weak model are below it.
    """

    threshold: Annotated[float, Field(le=0.0)] = -0.6
    right: Annotated[int, Field(ge=0)] = 0
