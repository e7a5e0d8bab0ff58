"""The codes of all errors and warnings about the text of a query.

A code is never given a second meaning: a new problem gets a new code, that of a problem which is gone stays unused.
docs/reference/errors.md has the cause and the cure of each.
"""

from __future__ import annotations

from enum import Enum


class Code(Enum):
    """A kind of problem: its code and its title. Errors are SQ001 to SQ099, warnings begin with SQ101."""

    EMPTY_QUERY = "SQ001", "the query is empty"
    SYNTAX = "SQ002", "something else is expected here"
    UNKNOWN_WORD = "SQ003", "a misspelt keyword"
    UNCLOSED_STRING = "SQ004", "a string that is never closed"
    UNCLOSED_BRACKET = "SQ005", "a bracket that is never closed"
    BAD_IRI = "SQ006", "text that makes no absolute IRI"
    UNEXPECTED_CHARACTER = "SQ007", "a character that begins no token"
    TOO_DEEP = "SQ008", "brackets nested too deeply"
    SPARQL_SYNTAX = "SQ009", "a graph pattern, template or expression that is not SPARQL"
    MISSING_CLAUSE = "SQ010", "a clause that every query needs is missing"
    REPEATED_CLAUSE = "SQ011", "a clause that may stand once is given twice"
    MISPLACED_CLAUSE = "SQ012", "a clause in the wrong place"
    UNDECLARED_PREFIX = "SQ013", "an undeclared prefix"
    BAD_PREFIX = "SQ014", "a prefix without a colon at its end"
    REGISTER_WITHOUT_CONSTRUCT = "SQ015", "REGISTER STREAM without CONSTRUCT"
    DUPLICATE_STREAM = "SQ016", "two streams with one Name or one IRI"
    UNDECLARED_STREAM = "SQ017", "a GPM on an undeclared stream"
    UNDEFINED_NAME = "SQ018", "a Name in SEQ( ) without DEFINE"
    DUPLICATE_GPM = "SQ019", "two GPMs with one Name"
    NOT_A_WHOLE_NUMBER = "SQ020", "a number that is not whole"
    ZERO = "SQ021", "a window, limit or LIMIT of 0"
    TOO_LARGE = "SQ022", "a number that is too large"
    START_OF_SLIDING = "SQ023", "STARTING AT with SLIDING"
    BAD_START = "SQ024", "STARTING AT without a time or position"
    FOREIGN = "SQ025", "a query of another language"
    WITHOUT_EVENT = "SQ030", "a part of SEQ( ) that can match without any event"
    QUANTIFIED_WITHOUT_EVENT = "SQ031", "'!' or '?' on what can match without any event"
    CONJUNCTION_MEMBER = "SQ032", "a member of '&' that has an order"
    LOOSE_EDGE = "SQ033", "a SEQ in ALL( ) that begins or ends with '!' or '?'"
    BAD_BOUNDS = "SQ034", "bounds of a quantifier that nothing meets"
    CONTIGUOUS_ALL = "SQ035", "',' or ';' next to ALL( )"
    POSSESSIVE_NEGATED = "SQ036", "a second '+' inside '!'"
    POSSESSIVE_ANY = "SQ037", "a second '+' after ':'"
    ONLY_NEGATED = "SQ040", "a variable bound only inside '!'"
    EXISTS_WITHOUT_EVENT = "SQ041", "EXISTS outside of the GPMs"
    NOT_REPEATED = "SQ042", "an aggregate, PREV, FIRST or LAST over a variable of no repeated step"
    AGGREGATE_ARGUMENT = "SQ043", "an aggregate, PREV, FIRST or LAST over something else than a variable"
    AGGREGATE_PLACE = "SQ044", "an aggregate, PREV, FIRST or LAST in the wrong place"
    PARTITION_VARIABLE = "SQ045", "PARTITION BY a variable that some positive step does not bind"
    ALREADY_BOUND = "SQ046", "a new value for a variable that has one"
    PROJECTED_TWICE = "SQ047", "a variable that is projected twice"
    EVENT_VARIABLES = "SQ048", "AS or AT twice in one DEFINE, or with one variable"
    SKIP_TO = "SQ049", "SKIP TO a Name that no positive step has"
    USELESS_LIMIT = "SQ050", "a limit on a step of one event or one time, or on '?'"
    LIMIT_BEFORE_NEGATION = "SQ051", "an operator's limit before '!'"
    LIMIT_IN_NEGATION = "SQ052", "an operator's limit inside '!'"
    USING_VARIABLE = "SQ053", "USING without a variable of PARTITION BY"
    HOP = "SQ060", "EVERY that makes no hopping window"
    GROUPS_WITHOUT_OVER = "SQ061", "EVERY, GROUP BY or HAVING without OVER MATCHES"
    UNGROUPED = "SQ062", "under OVER MATCHES a value that a group may have several of"
    DISTINCT_MATCHES = "SQ063", "COUNT(DISTINCT *)"
    PARTITIONED_EVENTS = "SQ064", "OVER MATCHES in a window of events of each partition"
    UNUSED_GPM = "SQ101", "a DEFINE that SEQ( ) never uses"
    NEVER_BOUND = "SQ102", "a variable that nothing binds"
    UNBOUND_IN_GPM = "SQ103", "a variable that nothing in its GPM binds"
    BIND_OUT_OF_SCOPE = "SQ104", "a BIND inside a GPM over a variable of another step"
    LAST_ITERATION = "SQ105", "a variable first bound inside a repetition that a step outside it uses"
    UNGUARDED_PREV = "SQ106", "PREV in a FILTER without BOUND or COALESCE"
    EVERY_SUBSET = "SQ107", "a repetition whose every subset is a match"
    SELECTOR_ACROSS_VALUES = "SQ108", "NEXT, LAST or MAX without PARTITION BY where steps share a variable"
    STRING_COMPARISON = "SQ109", "a number compared with a plain string"
    UNRELATED_PARTS = "SQ110", "steps that fall into parts that share neither a variable nor a condition"
    LIMIT_BEFORE_OPTIONAL = "SQ111", "an operator's limit before '?'"
    LIMITED_NEGATION_REPEATED = "SQ112", "a limited '!' that opens a repeated group"
    LIMITED_NEGATION_CUT = "SQ113", "a bounded trailing '!' in a tumbling window"
    POSSESSIVE_START = "SQ114", "a possessive repetition that opens the sequence without AFTER MATCH SKIP"
    LAST_VALUE = "SQ115", "OVER MATCHES an aggregate over the last value of a repeated step"

    @property
    def code(self) -> str:
        """`SQ012`."""
        return self.value[0]

    @property
    def title(self) -> str:
        """The problem in a few words."""
        return self.value[1]

    @property
    def severity(self) -> str:
        """Return "warning" for a query that can be run as it is, else "error"."""
        return "warning" if self.code > "SQ1" else "error"
