"""JSON and JSONL, read block by block: objects one after the other, or in one array."""

import re
from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder
from typing import Any

from typing_extensions import override

from transformer_mt.corpus.data_file import DataFile
from transformer_mt.corpus.source import Records, flat
from transformer_mt.errors import InputError
from transformer_mt.files import LONGEST_LINE

_BLOCK = 2**16  # characters
_GAP = re.compile(r"[\s,]*")


class JsonFile(Records):
    """A file of JSON objects, whose keys are the columns; an object has at most a megabyte."""

    def __init__(self, file: DataFile) -> None:
        super().__init__(str(file.path), file.identity, file.languages)
        self._file = file

    @override
    def records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        decode, line = JSONDecoder().raw_decode, 1
        try:
            with self._file.plain.open(encoding="utf-8-sig") as file:
                text = file.read(_BLOCK)
                end = "]" if text.lstrip().startswith("[") else ""
                text = text.replace("[", "", len(end))
                while True:
                    place = 0
                    while gap := _GAP.match(text, place):
                        line += gap[0].count("\n")
                        place = begin = gap.end()
                        if not text.startswith("{", begin):
                            break
                        try:
                            record, place = decode(text, begin)
                        except JSONDecodeError:  # perhaps since its end is in the next block
                            break
                        yield f"{self.name}:{line}", flat(record)
                        line += text.count("\n", begin, place)
                    text = text[place:]
                    block = file.read(_BLOCK)
                    if not block or len(text) > LONGEST_LINE:
                        break
                    text += block
                if text.strip() != end:
                    decode(text)  # raises its reason, if the text has no JSON
                    raise ValueError("an object is expected")
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", error)
            raise InputError(f"{self.name}:{line}: no JSON from here on ({reason}); correct the file") from None
