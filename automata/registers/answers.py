"""Answers of the host to what guards cannot tell, by condition and values: a hash table, and a list of questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arrays.comparison import FALSE, TRUE, UNKNOWN
from arrays.jit import lean_kernel
from automata.plan.program import Condition, ConditionEvaluator, Reference
from automata.registers.pool import mix
from automata.registers.tables import NONE
from automata.values import Ids

_QUESTIONS_MAX = 256
_ANSWERS_INITIAL = 512

ASKED, ANSWERED = range(2)
"""Of `Answers.counts`."""


class Answers(NamedTuple):
    """known     rows of (condition, answer, values …), condition NONE where free
    questions   rows of (condition, values …)
    """

    known: Ids
    questions: Ids
    counts: Ids


def new_answers(references: int) -> Answers:
    """None yet; conditions read at most so many variables."""
    known = np.full((_ANSWERS_INITIAL, 2 + references), NONE, dtype=np.int64)
    questions = np.zeros((_QUESTIONS_MAX, 1 + references), dtype=np.int64)
    return Answers(known, questions, np.zeros(2, dtype=np.int64))


def ask(answers: Answers, conditions: Sequence[Condition], condition_evaluator: ConditionEvaluator) -> Answers:
    """Have the questions answered; the table that knows the answers."""
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
        for values, answer in zip(some[:, 1:], held.tolist(), strict=True):
            _write_answer(answers, condition, TRUE if answer else FALSE, values)
    return answers


def forget_answers(answers: Answers) -> None:
    """Ids may stand for other terms from now on."""
    if answers.counts[ANSWERED]:
        answers.known[:, 0] = NONE
        answers.counts[ANSWERED] = 0


def _grown(answers: Answers) -> Answers:
    known = np.full((2 * len(answers.known), answers.known.shape[1]), NONE, dtype=np.int64)
    grown = Answers(known, answers.questions, np.zeros(2, dtype=np.int64))
    for row in answers.known[answers.known[:, 0] != NONE]:
        _write_answer(grown, row[0], row[1], row[2:])
    return grown


@lean_kernel
def look_up(answers: Answers, references: Ids, condition: int, registers: Ids) -> int:
    """FALSE or TRUE if that has been answered, else UNKNOWN."""
    hashed = mix(0xA5C, condition)
    for variable in references:
        hashed = mix(hashed, registers[variable] if variable >= 0 else 0)
    row = hashed & (answers.known.shape[0] - 1)
    while answers.known[row, 0] != NONE:
        same = answers.known[row, 0] == condition
        for place in range(references.shape[0]):
            value = registers[references[place]] if references[place] >= 0 else 0
            same = same and answers.known[row, 2 + place] == value
        if same:
            return int(answers.known[row, 1])
        row = (row + 1) & (answers.known.shape[0] - 1)
    return UNKNOWN


@lean_kernel
def write_question(answers: Answers, references: Ids, condition: int, registers: Ids) -> None:
    """Ask the host about a condition over these registers; questions for which there is no room come up again."""
    number = answers.counts[ASKED]
    answers.counts[ASKED] += 1
    if number < answers.questions.shape[0]:
        answers.questions[number, 0] = condition
        for place in range(references.shape[0]):
            value = registers[references[place]] if references[place] >= 0 else 0
            answers.questions[number, 1 + place] = value


@lean_kernel
def _write_answer(answers: Answers, condition: int, answer: int, values: Ids) -> None:
    hashed = mix(0xA5C, condition)
    for value in values:
        hashed = mix(hashed, value)
    row = hashed & (answers.known.shape[0] - 1)
    while answers.known[row, 0] != NONE:
        row = (row + 1) & (answers.known.shape[0] - 1)
    answers.known[row, 0] = condition
    answers.known[row, 1] = answer
    for place in range(values.shape[0]):
        answers.known[row, 2 + place] = values[place]
    answers.counts[ANSWERED] += 1
