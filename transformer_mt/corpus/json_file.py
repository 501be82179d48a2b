"""JSON and JSONL, read in blocks: a sequence of objects, or one array of them."""

import re
from json import JSONDecodeError, JSONDecoder

from transformer_mt.corpus.data_file import DataFile
from transformer_mt.corpus.source import PlacedRecords, flat
from transformer_mt.ground.errors import InputError
from transformer_mt.ground.files import LONGEST_LINE

_BLOCK = 2**16  # characters
_GAP = re.compile(r"[\s,]*")


def json_objects(file: DataFile) -> PlacedRecords:
    """Yield the objects of a file, at most a megabyte each; their keys are the columns. Raises `InputError`."""
    decode = JSONDecoder().raw_decode
    line = 1
    try:
        with file.plain.open(encoding="utf-8-sig") as stream:
            text = stream.read(_BLOCK)
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
                    except JSONDecodeError:  # its end may be in the next block
                        break
                    yield f"{file.path}:{line}", flat(record)
                    line += text.count("\n", begin, place)
                text = text[place:]
                block = stream.read(_BLOCK)
                if not block or len(text) > LONGEST_LINE:
                    break
                text += block
            if text.strip() != end:
                decode(text)  # raises the reason if the text is not JSON
                raise ValueError("expected an object")
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", error)
        raise InputError(f"{file.path}:{line}", f"not valid JSON from here on ({reason})", "correct the file") from None
