"""What `tmt translate` shows of a search besides its translations. Imports torch: only for use inside commands."""

from collections.abc import Iterable, Iterator
from itertools import tee

from transformer_mt.cli.lines import NO_EXTRA, Extra, Record
from transformer_mt.cli.terminal import literal_console
from transformer_mt.errors import InputError
from transformer_mt.translation.alternatives import find_alternatives
from transformer_mt.translation.trace import BeamRecorder, observing_search
from transformer_mt.translation.translator import Translation, Translator
from transformer_mt.views.search import alternatives_lines, trace_lines

# How many other subwords are shown at each position.
ALTERNATIVES = 4


class SearchViews:
    """Translates records, and shows the alternatives and the beam of each where they were asked for."""

    def __init__(self, translator: Translator, *, alternatives: bool, trace: bool, as_json: bool, prefix: str) -> None:
        """Raises `InputError` for a trace of draws, which keep no beam."""
        if trace and translator.search.sample:
            raise InputError("--trace: drawing at random keeps no beam; leave it or --sample out")
        self.translator, self.prefix = translator, prefix
        self.shows_alternatives, self.as_json = alternatives, as_json
        self.recorder = BeamRecorder() if trace else None

    def translated(self, records: Iterable[Record]) -> Iterator[tuple[Record, list[Translation]]]:
        """Every record with its translations, best first. A search that is traced is of one sentence alone."""
        if self.recorder is not None:
            yield from ((record, self._traced(record.text)) for record in records)
            return
        # Twice the same: those that the translator reads ahead wait for their translations.
        given, waiting = tee(records)
        found = self.translator.translate_stream((record.text for record in given), prefix=self.prefix)
        yield from zip(waiting, found, strict=False)

    def extras(self, record: Record, translations: list[Translation]) -> tuple[list[Extra], Extra]:
        """What to show besides each translation, and besides all of them."""
        if record.problem:
            return [], NO_EXTRA
        each = [self._alternatives(record.text, one) for one in translations] if self.shows_alternatives else []
        return each, self._trace() if self.recorder is not None else NO_EXTRA

    def _traced(self, text: str) -> list[Translation]:
        self.recorder = BeamRecorder()
        with observing_search(self.recorder):
            (found,) = self.translator.translate([text], prefix=self.prefix)
        return found

    def _alternatives(self, source: str, translation: Translation) -> Extra:
        found = find_alternatives(self.translator, source, translation, count=ALTERNATIVES)
        lines = [] if self.as_json else alternatives_lines(found)
        return Extra({"alternatives": [one.to_json() for one in found]}, [f"  {line}" for line in lines])

    def _trace(self) -> Extra:
        assert self.recorder is not None
        trace = self.recorder.trace(self.translator.tokenizer.pieces)
        if trace is None:
            return Extra({"trace": None}, ())
        if self.as_json:
            return Extra({"trace": trace.to_json()}, ())
        width = literal_console().width - 2
        return Extra({}, [f"  {line}" for line in trace_lines(trace, width=width)])
