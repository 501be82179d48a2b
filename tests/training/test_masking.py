import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_mt.tokenizer.symbols import EOS, PAD, SPECIAL
from transformer_mt.training.objective import MASK, mask_tokens


def test_tokens_are_masked_at_the_configured_rate() -> None:
    source = torch.randint(len(SPECIAL), 100, (200, 50))
    masked = mask_tokens(source, share=0.3)
    hidden = masked == MASK
    assert abs(hidden.double().mean().item() - 0.3) < 0.02
    assert torch.equal(masked[~hidden], source[~hidden])


@given(share=st.floats(0.0, 1.0, exclude_max=True), seed=st.integers(0, 999))
def test_end_symbols_and_padding_are_never_masked(share: float, seed: int) -> None:
    torch.manual_seed(seed)
    source = torch.tensor([[5, 7, EOS, PAD, PAD], [9, 5, 8, 6, EOS]])
    kept = (source == EOS) | (source == PAD)
    assert torch.equal(mask_tokens(source, share=share)[kept], source[kept])


def test_no_masking_draws_no_random_numbers() -> None:
    source, before = torch.tensor([[5, EOS]]), torch.get_rng_state()
    assert mask_tokens(source, share=0.0) is source
    assert torch.equal(torch.get_rng_state(), before)
