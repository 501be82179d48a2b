"""Contestant: translation with CTranslate2, used directly, of a converted model.

Arguments: the model, its tokenizer.model, a file with one sentence per line, the number format, the device, the
threads. A turn gets the beam, the batch size, the step between sentences, the shortest and longest translation in
tokens (including the end symbol), and whether log-probabilities are wanted; without them, CTranslate2 skips the softmax
of a greedy search.
"""

import sys
from pathlib import Path
from typing import Any

from benchmarks.host import serve, timed

# Tokens that our search never chooses either; `disable_unk` covers the third.
NEVER = [["<pad>"], ["<s>"]]


def main() -> None:
    """Serve translations."""
    sys.modules["torch"] = None  # type: ignore[assignment]  # it would load an installed torch needlessly
    import ctranslate2
    import sentencepiece

    model, vocabulary, path, number_format, device, threads = sys.argv[1:]
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=vocabulary)
    # As in our engine: more threads per batch mostly wait for each other.
    translator = ctranslate2.Translator(
        model, device=device, compute_type=number_format, intra_threads=1, inter_threads=int(threads)
    )
    sentences = Path(path).read_text("utf-8").splitlines()

    def translated(
        chosen: list[str], *, beam: int, batch: int, shortest: int, longest: int, scores: bool = False
    ) -> list[str]:
        texts = []
        for call in [chosen] if batch > 1 else [[sentence] for sentence in chosen]:
            found = translator.translate_batch(
                tokenizer.encode(call, out_type=str) if batch > 1 else [tokenizer.encode(call[0], out_type=str)],
                max_batch_size=batch,
                beam_size=beam,
                length_penalty=1.0,
                min_decoding_length=shortest - 1,
                max_decoding_length=longest - 1,
                disable_unk=True,
                suppress_sequences=NEVER,
                return_scores=scores,
            )
            texts += [tokenizer.decode(one.hypotheses[0]) for one in found]
        return texts

    def turn(*, every: int, **options: Any) -> dict[str, Any]:
        return timed(lambda: translated(sentences[::every], **options))

    serve(turn)


if __name__ == "__main__":
    main()
