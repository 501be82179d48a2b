"""Which models each program takes, by its table of the possible."""

from collections.abc import Mapping

import pytest
from support.tiny import tiny_config
from support.variants import VARIANTS, supported

from transformer_mt.extensions.ctranslate2 import ctranslate2_weights
from transformer_mt.extensions.export.supported import PLAIN, require_supported
from transformer_mt.ground.errors import InputError


@pytest.mark.parametrize("possible", [ctranslate2_weights.POSSIBLE, PLAIN])
def test_unsupported_configuration_is_named_with_what_is_supported(possible: Mapping[str, tuple[str, ...]]) -> None:
    taken = supported(VARIANTS, possible)
    assert taken
    for variant in VARIANTS:
        if variant in taken:
            require_supported(tiny_config(*variant), possible, by="it")
            continue
        with pytest.raises(InputError, match=r"^model\.[\w.]+: it does not support .+; it supports ") as error:
            require_supported(tiny_config(*variant), possible, by="it")
        key = str(error.value).split(":")[0]
        assert key in {setting.split("=")[0] for setting in variant}
        assert str(error.value).endswith(" or ".join(possible[key.removeprefix("model.")]))
