"""The codes of all errors and warnings about the text of a query.

A code is never given a second meaning: a new problem gets a new code, that of a problem which is gone stays unused.
The documentation's page of errors is made from this table, and `spaseq problem` prints it.
"""

from __future__ import annotations

from enum import Enum


class Code(Enum):
    """A kind of problem: code, title, cause and cure. Errors are SQ001 to SQ099, warnings begin with SQ101.

    Texts in backquotes are code.
    """

    # fmt: off
    EMPTY_QUERY = ("SQ001", "the query is empty",
        "The file holds nothing but blanks and comments.",
        "A query begins with PREFIX, SELECT or CONSTRUCT.",
    )
    SYNTAX = ("SQ002", "something else is expected here",
        "The text does not follow the grammar. The message says what may stand there.",
        "Write one of these; a quantifier and the operator before it stand together (`B;+`), an operator stands "
        "between every two steps.",
    )
    UNKNOWN_WORD = ("SQ003", "a misspelt keyword",
        "A word looks like a keyword and is none.",
        "Take the one that the hint names.",
    )
    UNCLOSED_STRING = ("SQ004", "a string that is never closed",
        "A quotation mark opens a string, and its line ends before another one.",
        'Close the string; a string of several lines stands between `"""`.',
    )
    UNCLOSED_BRACKET = ("SQ005", "a bracket that is never closed",
        "The query, or the next clause, begins before the bracket's partner has come.",
        "Close it; the position is that of the opening bracket.",
    )
    BAD_IRI = ("SQ006", "text that makes no absolute IRI",
        "An IRI has a blank or another character that no IRI has, or it is relative and the query has no BASE.",
        "Write it in full, or add `BASE <…>`.",
    )
    UNEXPECTED_CHARACTER = ("SQ007", "a character that begins no token",
        "A graph pattern, template or expression has a character with which no token of SPARQL begins.",
        "Remove it; a `#` outside of IRIs and strings begins a comment.",
    )
    TOO_DEEP = ("SQ008", "brackets nested too deeply",
        "Parentheses of SEQ( ) stand more than 100 deep, or a graph pattern nests deeper than can be read.",
        "Parentheses without a quantifier mean nothing around a sequence: leave them out.",
    )
    SPARQL_SYNTAX = ("SQ009", "a graph pattern, template or expression that is not SPARQL",
        "The SPARQL inside of the query cannot be read at this token.",
        "Write what the message expects. Patterns are SPARQL 1.1's group graph patterns.",
    )
    MISSING_CLAUSE = ("SQ010", "a clause that every query needs is missing",
        "Every query has SELECT or CONSTRUCT, WITHIN, FROM STREAM, SEQ( ), a DEFINE GPM, and braces around the "
        "last two.",
        "Add what the message names.",
    )
    REPEATED_CLAUSE = ("SQ011", "a clause that may stand once is given twice",
        "A clause stands twice that a query has once; only PREFIX, FROM, DEFINE, FILTER and BIND repeat.",
        "Keep one.",
    )
    MISPLACED_CLAUSE = ("SQ012", "a clause in the wrong place",
        "The clause belongs to another part of the query.",
        "Move it to where the hint says: prefixes, form, WITHIN · PARTITION BY · FROM, `{` SEQ, DEFINEs `}`, AFTER "
        "MATCH, LIMIT.",
    )
    UNDECLARED_PREFIX = ("SQ013", "an undeclared prefix",
        "A prefixed name is used whose prefix has no PREFIX.",
        "Declare it, `PREFIX ex: <…>`, at the top. Inside SEQ( ) there are no prefixed names.",
    )
    BAD_PREFIX = ("SQ014", "a prefix without a colon at its end",
        "The name after PREFIX has text after its colon.",
        "Write `PREFIX ex: <…>`.",
    )
    REGISTER_WITHOUT_CONSTRUCT = ("SQ015", "REGISTER STREAM without CONSTRUCT",
        "REGISTER STREAM makes events of the output, and only CONSTRUCT's output is graphs.",
        "Write CONSTRUCT, or leave out REGISTER STREAM.",
    )
    DUPLICATE_STREAM = ("SQ016", "two streams with one Name or one IRI",
        "A Name or an IRI stands in two FROM STREAM clauses.",
        "Give each stream one clause and one Name; two GPMs may read one stream.",
    )
    UNDECLARED_STREAM = ("SQ017", "a GPM on an undeclared stream",
        "The Name after ON is that of no FROM STREAM.",
        "Declare the stream, or correct the Name: case counts.",
    )
    UNDEFINED_NAME = ("SQ018", "a Name in SEQ( ) without DEFINE",
        "SEQ( ) names a step that no DEFINE GPM describes.",
        "Add `DEFINE GPM Name ON … { … }`, or correct the Name: case counts.",
    )
    DUPLICATE_GPM = ("SQ019", "two GPMs with one Name",
        "Two DEFINEs have one Name.",
        "Rename one. The same Name may stand twice in SEQ( ).",
    )
    NOT_A_WHOLE_NUMBER = ("SQ020", "a number that is not whole",
        "A window or LIMIT has a sign, a fraction or an exponent.",
        "Write a whole number; `1500 MILLISECONDS` for one and a half seconds.",
    )
    ZERO = ("SQ021", "a window, limit or LIMIT of 0",
        "A window of length 0 holds no match, two steps have no time between them, LIMIT 0 reports none, EVERY 0 "
        "would make endlessly many windows.",
        "Write a number from 1 on.",
    )
    TOO_LARGE = ("SQ022", "a number that is too large",
        "A number is above 2^63 - 1, a window longer than 292 years, or a quantifier counts above 2^31 - 1.",
        "Write a smaller number, a larger unit, or `{n,}` for no upper bound.",
    )
    START_OF_SLIDING = ("SQ023", "STARTING AT with SLIDING",
        "A sliding window begins with each match and has no fixed start.",
        "Leave out STARTING AT or SLIDING.",
    )
    BAD_START = ("SQ024", "STARTING AT without a time or position",
        "STARTING AT needs a dateTime or seconds; in a window of EVENTS, a position counted from 0.",
        '`STARTING AT "2026-01-01T00:00:00Z"`, or `STARTING AT 10` for events.',
    )
    FOREIGN = ("SQ025", "a query of another language",
        "The text has what only RSP-QL, C-SPARQL, CQELS, EP-SPARQL, SQL's MATCH_RECOGNIZE, EPL or FlinkCEP write, "
        "and no DEFINE GPM. It is the only problem that is reported.",
        "The page 'Coming from …' of the documentation has the constructs of each beside ours, and translated queries.",
    )
    WITHOUT_EVENT = ("SQ030", "a part of SEQ( ) that can match without any event",
        "Every step of the sequence, branch, repeated group or member of ALL( ) may be absent, so that it would "
        "match nothing at all.",
        "Make one step required: neither `?`, `!` nor `*`.",
    )
    QUANTIFIED_WITHOUT_EVENT = ("SQ031", "'!' or '?' on what can match without any event",
        "The quantifier stands on something that can already match without any event.",
        "Leave out one of the two quantifiers, or make a step inside required.",
    )
    CONJUNCTION_MEMBER = ("SQ032", "a member of '&' that has an order",
        "The members of `&` happen at one time, so none of them can be a sequence, a repetition or an absence.",
        "Write `A & B`, `A & (B | C)` or `(A & B)+`.",
    )
    LOOSE_EDGE = ("SQ033", "a SEQ in ALL( ) that begins or ends with '!' or '?'",
        "What `!` or `?` stands for must lie between two steps of the member.",
        "Put a required step before and after it, or move it out of ALL( ).",
    )
    BAD_BOUNDS = ("SQ034", "bounds of a quantifier that nothing meets",
        "`{n,m}` has m below n, or m is 0.",
        "Write the smaller number first; `!` says that a step is absent.",
    )
    CONTIGUOUS_ALL = ("SQ035", "',' or ';' next to ALL( )",
        "The events of ALL( ) have no order, so that none is next to what comes before or after, or in the next "
        "iteration.",
        "Write `:` beside ALL( ), and `:+` to repeat it.",
    )
    POSSESSIVE_NEGATED = ("SQ036", "a second '+' inside '!'",
        "`B++` takes as many iterations as there are; inside `!` none is to occur, so that nothing is left to take.",
        "Leave out the second `+`.",
    )
    POSSESSIVE_ANY = ("SQ037", "a second '+' after ':'",
        "Under `:` any later event may be the next iteration, so that none is the last one.",
        "Write `;` or `,` before the quantifier, or leave the second `+` out and let SELECT MAX keep the largest "
        "matches.",
    )
    ONLY_NEGATED = ("SQ040", "a variable bound only inside '!'",
        "A step under `!` stands for events that are not there: it binds nothing outside of that `!`.",
        "Use a variable of a positive step, or move the condition into the negated GPM.",
    )
    EXISTS_WITHOUT_EVENT = ("SQ041", "EXISTS outside of the GPMs",
        "EXISTS looks at the graph of an event; SELECT, templates and what stands beside the DEFINEs have none.",
        "Move it into a FILTER of a GPM.",
    )
    NOT_REPEATED = ("SQ042", "an aggregate, PREV, FIRST or LAST over a variable of no repeated step",
        "Aggregates, PREV, FIRST and LAST range over the iterations of a repeated step; no repeated step binds "
        "this variable.",
        "Repeat the step (`A+`), or use the variable itself.",
    )
    AGGREGATE_ARGUMENT = ("SQ043", "an aggregate, PREV, FIRST or LAST over something else than a variable",
        "Aggregates, PREV, FIRST and LAST take one variable and nothing else; iterations have values of variables "
        "only.",
        "Compute the value with BIND inside the GPM, and write `SUM(?v)` of its variable; `COUNT(?v)` in place of "
        "`COUNT(*)`.",
    )
    AGGREGATE_PLACE = ("SQ044", "an aggregate, PREV, FIRST or LAST in the wrong place",
        "Aggregates, PREV, FIRST and LAST stand in the FILTERs at the top of a GPM, in SELECT, in FILTER and BIND "
        "beside the DEFINEs, and as objects of the template; in a sub-SELECT, keys and aggregates alone are "
        "projected from groups.",
        "Move it to one of these places; in the template, out of the collection.",
    )
    PARTITION_VARIABLE = ("SQ045", "PARTITION BY a variable that some positive step does not bind",
        "The query is evaluated once for each value, so every positive step has to bind the variable.",
        "Bind it in the steps that the message names, or partition by a variable that every step binds.",
    )
    ALREADY_BOUND = ("SQ046", "a new value for a variable that has one",
        "BIND or AS gives a value to a variable that a step, an earlier BIND or the pattern before it binds.",
        "Choose a new variable after AS. To compare the two, write a FILTER.",
    )
    PROJECTED_TWICE = ("SQ047", "a variable that is projected twice",
        "SELECT has two columns of one name.",
        "Leave one out, or name it anew: `(?v AS ?w)`.",
    )
    EVENT_VARIABLES = ("SQ048", "AS or AT twice in one DEFINE, or with one variable",
        "AS names the graph of the event and AT its time; each stands once, with a variable of its own.",
        "`DEFINE GPM A ON S AS ?g AT ?t { … }`.",
    )
    SKIP_TO = ("SQ049", "SKIP TO a Name that no positive step has",
        "`AFTER MATCH SKIP TO FIRST A` and `SKIP TO LAST A` go on at an event that the match took as A. A step "
        "inside `!` takes none.",
        "Name a step of SEQ( ) outside of `!`.",
    )
    USELESS_LIMIT = ("SQ050", "a limit on a step of one event or one time, or on '?'",
        "`B WITHIN 5 MINUTES` limits the time from the first to the last event inside of the step, and there is "
        "one event, or there are several of one time.",
        "`A ; WITHIN 5 MINUTES B` limits the time since the step before; of `(A ; B)? WITHIN …` limit what is "
        "inside of `?`.",
    )
    LIMIT_BEFORE_NEGATION = ("SQ051", "an operator's limit before '!'",
        "An operator stands between two positive steps, and the limit would be that of the next one.",
        "`B! WITHIN 5 MINUTES` limits the absence; to limit the next step, write the limit after the operator "
        "before it.",
    )
    LIMIT_IN_NEGATION = ("SQ052", "an operator's limit inside '!'",
        "What is negated has limits of steps alone.",
        "`((A ; B) WITHIN 5 MINUTES)!`.",
    )
    USING_VARIABLE = ("SQ053", "USING without a variable of PARTITION BY",
        "The pattern of USING tells to which values an event belongs, so it has to bind every variable of "
        "PARTITION BY.",
        "Bind the variable in the pattern of USING, or partition by one that it binds.",
    )
    HOP = ("SQ060", "EVERY that makes no hopping window",
        "The hop is longer than the window, so that some events would be in none; or one of the two counts events "
        "and the other is a time.",
        "`WITHIN 10 MINUTES EVERY 1 MINUTE`, or `WITHIN 100 EVENTS EVERY 10 EVENTS`.",
    )
    GROUPS_WITHOUT_OVER = ("SQ061", "EVERY, GROUP BY or HAVING without OVER MATCHES",
        "Without it each match gives a row, and there are no groups.",
        "Write SELECT OVER MATCHES for a row for each group of matches; PARTITION BY evaluates a query once for "
        "each value.",
    )
    UNGROUPED = ("SQ062", "under OVER MATCHES a value that a group may have several of",
        "A row stands for a group of matches, which may differ in a variable that GROUP BY does not name; `*` "
        "names none.",
        "Add the variable to GROUP BY, or choose a value: `MIN(?v)`, `SAMPLE(?v)`. What SELECT computes can be "
        "used in HAVING, not in another column.",
    )
    DISTINCT_MATCHES = ("SQ063", "COUNT(DISTINCT *)",
        "Matches differ from one another, so that it would be COUNT(*).",
        "`COUNT(*)` counts matches, `COUNT(DISTINCT ?v)` values.",
    )
    PARTITIONED_EVENTS = ("SQ064", "OVER MATCHES in a window of events of each partition",
        "With PARTITION BY each partition counts its own events, so that its windows are not those of the others, "
        "and no group could have the matches of all.",
        "Use a window of time, SLIDING, or GROUP BY in place of PARTITION BY.",
    )
    BEYOND_BOUND = ("SQ065", "a query that is larger than its bounds",
        "The steps of SEQ( ), their variables, the IRI of a prefix, or a condition with its BINDs in their places are "
        "more than a query may have; `docs/reference/limits.md` has the bounds.",
        "Divide the query, or write what repeats as a repetition; the message names the bound.",
    )
    UNUSED_GPM = ("SQ101", "a DEFINE that SEQ( ) never uses",
        "The GPM matches nothing, since SEQ( ) does not name it; often the Name in SEQ( ) is another one.",
        "Give it its place in SEQ( ), or leave it out.",
    )
    NEVER_BOUND = ("SQ102", "a variable that nothing binds",
        "The variable stays unbound, as in SPARQL: its column is empty, its triple left out, its FILTER false.",
        "Correct its name, or bind it in a step.",
    )
    UNBOUND_IN_GPM = ("SQ103", "a variable that nothing in its GPM binds",
        "A FILTER or BIND that is not at the top of its GPM sees only what is bound around it in the pattern, "
        "whatever other steps bind.",
        "Move the FILTER to the top of the GPM, or correct the name.",
    )
    BIND_OUT_OF_SCOPE = ("SQ104", "a BIND inside a GPM over a variable of another step",
        "A GPM is matched on its own, so that its BIND never sees a variable of another step, and its value stays "
        "unbound.",
        "Write the BIND beside the DEFINEs, where it sees the variables of all steps.",
    )
    LAST_ITERATION = ("SQ105", "a variable first bound inside a repetition that a step outside it uses",
        "Each iteration binds such a variable afresh, so that they may all differ; a step outside meets the value "
        "of the last one only.",
        "`PARTITION BY` the variable makes the iterations agree, and so does a step before them that binds it. In "
        "a condition, `LAST(?v)` says that the last value is meant; FIRST, MIN, MAX and AVG range over all.",
    )
    UNGUARDED_PREV = ("SQ106", "PREV in a FILTER without BOUND or COALESCE",
        "PREV has no value at the first iteration, so that the FILTER is false there, and no repetition ever begins.",
        "`FILTER (!BOUND(PREV(?v)) || ?v > PREV(?v))`, or `COALESCE(?v > PREV(?v), true)`.",
    )
    EVERY_SUBSET = ("SQ107", "a repetition whose every subset is a match",
        "Under `:+` and `:{n,}` any of the events may be left out: n events give up to 2^n matches, each a row.",
        "`;+` takes the next event each time; an upper bound limits the size (`:{1,3}`); SELECT MAX reports the "
        "largest matches only.",
    )
    SELECTOR_ACROSS_VALUES = ("SQ108", "NEXT, LAST or MAX without PARTITION BY where steps share a variable",
        "The selector compares all matches with the same last event: those of one sensor or house drop those of "
        "another.",
        "`PARTITION BY` the shared variable; bind it in every step first.",
    )
    STRING_COMPARISON = ("SQ109", "a number compared with a plain string",
        "A number, or a duration, is no string, whatever the values are: `=` never holds, `!=` always does, `<` is "
        "an error.",
        'Leave out the quotation marks, or write a typed literal: `"PT5M"^^xsd:dayTimeDuration`.',
    )
    UNRELATED_PARTS = ("SQ110", "steps that fall into parts that share neither a variable nor a condition",
        "Nothing relates the events of one part to those of the other: every match of one goes with any of the other.",
        "Let the steps share a variable, such as that of the sensor, or compare them in a FILTER. BIND alone "
        "restricts nothing.",
    )
    LIMIT_BEFORE_OPTIONAL = ("SQ111", "an operator's limit before '?'",
        "In `A ; WITHIN 5 MINUTES B? ; C` nothing limits the time from A to C where there is no B.",
        "Write both cases: `((A ; WITHIN 5 MINUTES B) | A) ; C`, each with its own limits.",
    )
    LIMITED_NEGATION_REPEATED = ("SQ112", "a limited '!' that opens a repeated group",
        "In `(N! WITHIN 1 MINUTE ; A)+` the first iteration has no event before it: the minute before A is looked "
        "at, later on the minute after the iteration before.",
        "Put the `!` at the end of the group, or before the repetition.",
    )
    LIMITED_NEGATION_CUT = ("SQ113", "a bounded trailing '!' in a tumbling window",
        "The window ends before the limit does for matches at its end: what comes after it is not looked at.",
        "Write SLIDING after the window.",
    )
    POSSESSIVE_START = ("SQ114", "a possessive repetition that opens the sequence without AFTER MATCH SKIP",
        "`B;++` takes all that follow the event it begins with, and it may begin with any: an episode of five "
        "events gives five matches, each shorter than the one before.",
        "`AFTER MATCH SKIP PAST LAST EVENT` reports each episode once.",
    )
    LAST_VALUE = ("SQ115", "OVER MATCHES an aggregate over the last value of a repeated step",
        "The aggregate takes one value for each match, and outside of the repetition a variable has its value at "
        "the last iteration.",
        "Say which value of a match is meant: `SUM(SUM(?v))` adds the values of all iterations, `MAX(LAST(?v))` "
        "takes the last of each match.",
    )
    # fmt: on

    @property
    def code(self) -> str:
        """`SQ012`."""
        return self.value[0]

    @property
    def title(self) -> str:
        """The problem in a few words, without a capital."""
        return self.value[1]

    @property
    def cause(self) -> str:
        """The reason of the problem, in full sentences."""
        return self.value[2]

    @property
    def cure(self) -> str:
        """The way out, in full sentences."""
        return self.value[3]

    @property
    def severity(self) -> str:
        """Return "warning" for a query that can be run as it is, else "error"."""
        return "warning" if self.code > "SQ1" else "error"
