"""How often each construction is used: to add one, write its function and name it here."""

from collections.abc import Callable

from transformer_mt.corpus.builtin import complex_sentences, relative_sentences, simple_sentences
from transformer_mt.corpus.builtin.sampler import Sampler
from transformer_mt.corpus.builtin.sentences import Sentence

Construction = Callable[[Sampler], Sentence]

CONSTRUCTIONS: dict[Construction, float] = {
    simple_sentences.statement: 17,
    simple_sentences.fronted_statement: 8,
    simple_sentences.modal_statement: 5,
    simple_sentences.prevented: 0.8,
    simple_sentences.command: 5,
    simple_sentences.yes_no_question: 7,
    simple_sentences.who_question: 2,
    simple_sentences.object_question: 3.5,
    simple_sentences.adverb_question: 5,
    simple_sentences.where_is: 1.2,
    simple_sentences.how_question: 0.8,
    simple_sentences.described: 6,
    simple_sentences.compared: 3,
    simple_sentences.better_thing: 1,
    simple_sentences.occupation: 1,
    simple_sentences.this_is: 2,
    simple_sentences.is_somewhere: 2.5,
    simple_sentences.existence: 3,
    simple_sentences.weather: 0.8,
    simple_sentences.in_general: 2,
    complex_sentences.try_to: 4,
    complex_sentences.help_to: 5,
    complex_sentences.request: 2,
    complex_sentences.judged: 2.5,
    complex_sentences.have_time_to: 1.5,
    complex_sentences.that_clause: 3.5,
    complex_sentences.whether_clause: 2.5,
    complex_sentences.because: 4,
    complex_sentences.if_clause: 3.5,
    complex_sentences.when_clause: 2,
    relative_sentences.relative_on_subject: 2.5,
    relative_sentences.relative_on_object: 4,
    complex_sentences.coordination: 3,
}
