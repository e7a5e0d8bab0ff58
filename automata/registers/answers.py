"""Conditions that guards leave undecided: a hash table of the condition evaluator's answers, and a list of questions.

A *question* is a row (condition, values …): the values of the registers that the condition reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arrays.comparison import FALSE, TRUE, UNKNOWN
from arrays.jit import lean_kernel, lean_part
from automata.plan.program import Condition, ConditionEvaluator, Reference
from automata.registers.pool import hash_of
from automata.registers.tables import NONE
from automata.values import Ids

_QUESTIONS_MAX = 256
_ANSWERS_INITIAL = 512

ASKED, ANSWERED = range(2)
"""Columns of `Answers.counts`."""


class Answers(NamedTuple):
    """known     rows of (question, answer), whose condition is NONE where free
    questions   those without an answer
    current     the question that is being looked up
    """

    known: Ids
    questions: Ids
    current: Ids
    counts: Ids


def new_answers(references: int) -> Answers:
    """An empty table for conditions that read at most so many variables."""
    known = np.full((_ANSWERS_INITIAL, 2 + references), NONE, dtype=np.int64)
    questions = np.zeros((_QUESTIONS_MAX, 1 + references), dtype=np.int64)
    return Answers(known, questions, questions[0].copy(), np.zeros(2, dtype=np.int64))


def answer(answers: Answers, conditions: Sequence[Condition], condition_evaluator: ConditionEvaluator) -> Answers:
    """The table with the answers to all questions."""
    count = min(int(answers.counts[ASKED]), len(answers.questions))
    questions = np.unique(answers.questions[:count], axis=0)
    answers.counts[ASKED] = 0
    while 2 * (answers.counts[ANSWERED] + len(questions)) > len(answers.known):
        answers = _grown(answers)
    for condition in np.unique(questions[:, 0]).tolist():
        some = questions[questions[:, 0] == condition]
        columns: dict[Reference, Ids] = {
            reference: some[:, 1 + place] for place, reference in enumerate(conditions[condition].references)
        }
        held = condition_evaluator.holds(condition, columns, len(some))
        for question, holds in zip(some, held.tolist(), strict=True):
            _store(answers, question, TRUE if holds else FALSE)
    return answers


def forget_answers(answers: Answers) -> None:
    """Empties the table: ids may stand for other terms from now on."""
    if answers.counts[ANSWERED]:
        answers.known[:, 0] = NONE
        answers.counts[ANSWERED] = 0


def _grown(answers: Answers) -> Answers:
    known = np.full((2 * len(answers.known), answers.known.shape[1]), NONE, dtype=np.int64)
    grown = answers._replace(known=known, counts=np.zeros(2, dtype=np.int64))
    for row in answers.known[answers.known[:, 0] != NONE]:
        _store(grown, row[:-1], row[-1])
    return grown


@lean_part
def look_up(answers: Answers, references: Ids, condition: int, registers: Ids) -> int:
    """FALSE or TRUE if the condition over these registers has been answered; else UNKNOWN, and a question is added.

    Questions for which there is no room are asked again later.
    """
    answers.current[0] = condition
    for place in range(references.shape[0]):
        answers.current[1 + place] = registers[references[place]] if references[place] >= 0 else 0
    row = _row_of(answers, answers.current)
    if answers.known[row, 0] != NONE:
        return int(answers.known[row, -1])
    number = answers.counts[ASKED]
    answers.counts[ASKED] += 1
    if number < answers.questions.shape[0]:
        for place in range(answers.current.shape[0]):
            answers.questions[number, place] = answers.current[place]
    return UNKNOWN


@lean_part
def _row_of(answers: Answers, question: Ids) -> int:
    """The row of the question in `known`, or the free one where it belongs."""
    row = hash_of(question, 0xA5C) & (answers.known.shape[0] - 1)
    while answers.known[row, 0] != NONE:
        same = True
        for place in range(question.shape[0]):
            same = same and answers.known[row, place] == question[place]
        if same:
            break
        row = (row + 1) & (answers.known.shape[0] - 1)
    return int(row)


@lean_kernel
def _store(answers: Answers, question: Ids, held: int) -> None:
    row = _row_of(answers, question)
    for place in range(question.shape[0]):
        answers.known[row, place] = question[place]
    answers.known[row, -1] = held
    answers.counts[ANSWERED] += 1
