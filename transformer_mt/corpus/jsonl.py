"""JSONL, checked line by line: one object with both sides a line, flat or nested in `translation`."""

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from typing_extensions import override

from transformer_mt.corpus.compressed import opened
from transformer_mt.corpus.selection import (
    NESTED,
    OneFile,
    Selection,
    missing_column,
    require_whole_characters,
    said_by_columns,
)
from transformer_mt.corpus.source import DataFile
from transformer_mt.corpus.text import not_utf8
from transformer_mt.errors import InputError
from transformer_mt.files import bounded_lines


@dataclass(frozen=True)
class JsonLines(OneFile):
    """A file of JSON objects, one a line; blank lines are none."""

    file: DataFile

    @cached_property
    @override
    def languages(self) -> tuple[str, ...]:
        if self.file.languages:
            return self.file.languages
        for _, row in self._objects():
            return said_by_columns(_sides(row, ()))
        return ()

    @override
    def rows(self, selection: Selection) -> Iterator[tuple[str, str]]:
        columns = selection.columns
        for place, row in self._objects():
            sides = _sides(row, columns)
            if not set(columns) <= sides.keys():
                raise missing_column(place, list(sides), selection)
            for column in columns:
                if not isinstance(text := sides[column], str):
                    raise InputError(f"{place}: {column} is {_shown(text)}, not a text; write it in quotes")
                require_whole_characters(text, place=place, column=column)
            yield sides[columns[0]], sides[columns[1]]

    def _objects(self) -> Iterator[tuple[str, dict[str, Any]]]:
        with opened(self.file) as stream:
            for number, line in bounded_lines(stream, name=self.name):
                if isinstance(line, InputError):
                    raise line
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                if line.strip():
                    place = f"{self.name}:{number}"
                    row = self._parse(line, number, place)
                    if not isinstance(row, dict):
                        raise InputError(
                            f"{place}: {_shown(row)} is not an object; write one JSON object with both sides a line"
                        )
                    yield place, row

    def _parse(self, line: bytes, number: int, place: str) -> Any:
        try:
            return json.loads(line.decode("utf-8").rstrip())
        except UnicodeDecodeError as error:
            raise not_utf8(self.file, number, error) from None
        except json.JSONDecodeError as error:
            raise InputError(f"{place}: not JSON at column {error.colno} ({error.msg}); correct the line") from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"{place}: not usable JSON ({error}); correct the line") from None


def _sides(row: dict[str, Any], columns: tuple[str, ...]) -> dict[str, Any]:
    """The object that holds the texts: the row itself, or what it nests."""
    nested = row.get(NESTED)
    return nested if isinstance(nested, dict) and not (columns and set(columns) <= row.keys()) else row


def _shown(value: Any) -> str:
    """A JSON value, short enough for a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"
