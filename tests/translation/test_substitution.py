import numpy as np
import pytest

from transformer_mt.links.align import Alignment
from transformer_mt.text.words import words
from transformer_mt.translation.glossary import Occurrence
from transformer_mt.translation.substitution import put_terms


def put(target: str, owners: str, terms: str, *, prefix: str = "", is_english: bool = True) -> tuple[str, str]:
    """The text with terms such as `1=hound` or `1-2=old man`, and the numbers of those with a place.

    For each target word, `owners` has its source word, or several with their shares such as `1:.4,2:.6`, or `.`.
    """
    shares = np.zeros((len(words(target)), 9), np.float32)
    for row, given in zip(shares, owners.split(), strict=True):
        for owner in given.strip(".").split(","):
            column, _, share = owner.partition(":")
            if column:
                row[int(column)] = float(share or 1)
    found = []
    for one in filter(None, terms.split("; ")):
        places, _, term = one.partition("=")
        first, _, last = places.partition("-")
        found.append(Occurrence(places, term, int(first), int(last or first) + 1))
    text, placed = put_terms(
        Alignment("", target, (), (), (), "", shares, (), ""), found, prefix=prefix, is_english=is_english
    )
    return text, " ".join(sorted(one.source for one in placed))


@pytest.mark.parametrize(
    ("target", "owners", "terms", "expected"),
    [
        ("The dog sleeps in the house.", "0 1 2 3 4 5 .", "1=hound; 5=building", "The hound sleeps in the building."),
        ("The house sleeps.", "3 4 1 .", "1=rests; 4=old dog", "The old dog rests."),  # in another order
        ("The dog sleeps.", "0 1 2 .", "1=dog", "The dog sleeps."),
        ("A dog and a dog and a dog.", "0 1 2 3 4 5 6 7 .", "1=cat; 4=cat", "A cat and a cat and a dog."),
        ("Dogs and dogs.", "1:.6,2:.4 3 1:.2,2:.35 .", "1=cats; 2=cats", "Cats and cats."),  # a word takes one term
        ("“Dog”, he said.", ". 1 . . 2 3 .", "1=hound; 3=called", "“Hound”, he called."),
        ("(the dogs')", ". 0 1 . .", "1=hounds", "(the hounds')"),
        ("我有一只狗。", "0 1 2 2 3 .", "2-3=两条大狗", "我有两条大狗。"),
    ],
)
def test_terms_replace_linked_words(target: str, owners: str, terms: str, expected: str) -> None:
    placed = " ".join(one.split("=")[0] for one in terms.split("; "))
    assert put(target, owners, terms) == (expected, placed)


@pytest.mark.parametrize(("share", "placed"), [(".29", ""), (".31", "1")])
def test_term_without_a_linked_word_is_left_out(share: str, placed: str) -> None:
    assert put("The dog sleeps.", f"0 1:{share} 2 .", "1=hound") == (
        f"The {'hound' if placed else 'dog'} sleeps.",
        placed,
    )
    assert put("", "", "1=hound") == ("", "")


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        ("0 1:.51 1:.9 3 .", "My permit expired."),
        ("0 1:.9 1:.51 3 .", "My permit expired."),
        ("0 1:.49 1:.9 3 .", "My driving permit expired."),
        ("0 1:.9 1:.49 3 .", "My permit licence expired."),
        ("0 1:.4 1:.45 3 .", "My driving permit expired."),
        ("0 2 1:.4,2:.5 1:.8 .", "My driving licence permit."),
    ],
)
def test_neighbours_with_half_of_a_share_belong_to_a_term(owners: str, expected: str) -> None:
    assert put("My driving licence expired.", owners, "1=permit")[0] == expected


def test_shares_of_all_words_of_a_term_count() -> None:
    assert put("The old man.", "0 1:.3,2:.2 1:.2,2:.2 .", "1-2=gentleman") == ("The gentleman man.", "1-2")
    assert put("The old man.", "0 1:.3,2:.2 1:.2,2:.4 .", "1-2=gentleman") == ("The gentleman.", "1-2")


@pytest.mark.parametrize(("target", "owners"), [("It is C++.", "0 1 2 . . ."), ("It is 1.5.", "0 1 . . 2 .")])
def test_number_or_name_with_marks_is_replaced_as_a_whole(target: str, owners: str) -> None:
    assert put(target, owners, "2=C#") == ("It is C#.", "2")


@pytest.mark.parametrize(
    ("before", "term", "expected"),
    [
        ("a", "owl", "an owl"),
        ("an", "dog", "a dog"),
        ("a", "Owl", "an Owl"),
        ("A", "hour", "An hour"),
        ("a", "honest heir", "an honest heir"),
        ("a", "heir", "an heir"),
        ("An", "unicorn", "A unicorn"),
        ("an", "useful dog", "a useful dog"),
        ("a", "uninvited guest", "an uninvited guest"),
        ("an", "European", "a European"),
        ("an", "one-off", "a one-off"),
        ("an", "once-off", "a once-off"),
        ("the", "owl", "the owl"),
        ("extra", "owl", "extra owl"),
    ],
)
def test_article_fits_the_term(before: str, term: str, expected: str) -> None:
    assert put(f"I saw {before} cat.", "0 1 2 3 .", f"3={term}")[0] == f"I saw {expected}."
    assert put(f"I saw {before} cat.", "0 1 2 3 .", f"3={term}", is_english=False)[0] == f"I saw {before} {term}."


@pytest.mark.parametrize(
    ("target", "owners", "term", "expected"),
    [
        ("Dogs bark.", "0 1 .", "hounds", "Hounds bark."),
        ("“Dogs bark.”", ". 0 1 . .", "hounds", "“Hounds bark.”"),
        ("Yes! Dogs bark.", "3 . 0 1 .", "hounds", "Yes! Hounds bark."),
        ("Dogs bark.", "0 1 .", "eBay", "eBay bark."),
        ("Dogs bark.", "0 1 .", "old Mr Quaxl", "Old Mr Quaxl bark."),
        ("dogs bark.", "0 1 .", "hounds", "hounds bark."),  # a model without capitals
        ("The Dogs bark.", "3 0 1 .", "hounds", "The hounds bark."),
    ],
)
def test_sentence_keeps_its_capital(target: str, owners: str, term: str, expected: str) -> None:
    assert put(target, owners, f"0={term}") == (expected, "0")


def test_prefix_stays() -> None:
    def after(prefix: str) -> tuple[str, str]:
        return put("The dog is a cat.", "0 1 2 3 4 .", "1=hound; 4=owl", prefix=prefix)

    assert after("The") == ("The hound is an owl.", "1 4")
    assert after("The dog") == ("The dog is an owl.", "4")
    assert after("The do") == ("The dog is an owl.", "4")
    assert after("The dog is a cat.") == ("The dog is a cat.", "")
    assert put("The hound.", "0 1 .", "1=hound", prefix="The hound") == ("The hound.", "1")  # it has the term already
