"""What kind of text a result is: news, nothing, a mere acknowledgement, or "still running"."""

import re
from typing import Final

from sidecar.core.digests.framing import framed
from sidecar.core.digests.on_its_way import is_on_its_way
from sidecar.core.digests.other_languages import (
    refuses_elsewhere,
    without_in_the,
    without_no_errors,
    without_nothing_found,
)
from sidecar.core.turn import ResultKind

ACKNOWLEDGEMENT_MAX: Final = 200
"""Characters up to which a text that refuses nothing is an acknowledgement; in 916 recorded runs
the limit kept short confirmations apart from output."""
WRITTEN_MAX: Final = 2_000
"""The same, of a call that wrote: different writes rightly confirm themselves in the same words."""
CONFIRMED_MAX: Final = 1_000
"""The same, of a text that says that all is well, and of a mere warning."""
RUNNING_MAX: Final = 400
"""Characters up to which a text can say as a whole that something runs. The longest notice of that
kind that is known, one that explains how to go on waiting, has 270."""
RUNNING_LINES_MAX: Final = 3
SEARCHED: Final = (None, 0, 1)
"""Exit codes of what may merely have found nothing: `grep` ends with 1 then."""

_NOTHING = re.compile(
    r"(?:(?:code )?output:\s*)?"
    r"(?:\[\s*\]|\{\s*\}|\(\s*\)|\"\"|''|null|none|nil|undefined"
    r"|[<(\[]?(?:no (?:output|content)|empty)[>)\]]?"
    r"|[^\n]{0,40}\bfile (?:exists but )?(?:(?:the|its) contents are|is) empty\b[^\n]{0,120}"
    r"|(?:the |your )?(?:tool|command)[a-z ]* (?:without|with no|produced no|did not produce)"
    r"(?: any)? output[a-z ]*"
    r"|[^\n]*\n[-+]+\n\(0 rows\)"
    r"|host [^\s]{1,253} not found: 3\(nxdomain\)"
    r")?[.\s]*"
)
_RUNNING = re.compile(
    r"\bstill (?:running|executing|in progress|working|processing|waiting|building|creating"
    r"|destroying|modifying|deploying|starting|pulling|installing)\b"
    r"|\b(?:command|process|task|session) (?:is )?running\b"
    r"|\bno new output\b|\bnot (?:yet )?(?:finished|completed|exited)\b"
    r"|<status>\s*running\s*</status>"
    r"|\A\{[^{}\[\]]*\"[a-z_]{0,24}(?:status|state|phase|health)\"\s*:\s*\"running\"[^{}\[\]]*\}\Z"
    r"|\A[^\n]{0,160}\b(?:is|are) (?:still |currently )?starting up[.!]?\Z"
    r"|\A(?:the |your )?(?:build|deploy(?:ment)?|job|task|roll ?out|upload|download|installation"
    r"|operation|migration|backup|export|import|training|update|run|tests?)\b[^\n]{0,40}"
    r"\bin progress[.!…]*\Z"
    r"|\Awaiting for [^\n]{0,200}\bto (?:finish|complete|start|become ready|roll ?out)\b"
    r"|\A[^\n]{0,60}(?:läuft noch|noch nicht fertig|wird noch (?:ausgeführt|verarbeitet|erstellt)"
    r"|toujours en cours|en cours d.(?:exécution|traitement)|sigue en curso|en ejecución|en proceso"
    r"|ainda em andamento|em execução|ещё выполняется|в процессе|仍在运行"
    r"|正在(?:运行|执行|处理|构建|部署|创建)|(?:运行|执行|处理|构建|部署|创建)中"
    r"|実行中|処理中|作成中|실행 중|처리 중)[^\n]{0,20}\Z"
)
"""A status of its own, or a sentence, also in some other languages; a report that has more to say
than that something is pending is none."""
_SUCCESS = re.compile(
    r"\bsuccessfully\b|\bsucceeded\b|\bhas been executed\b|\bno changes\b"
    r"|\"(?:status|state|result)\"\s{0,9}:\s{0,9}\"(?:up|ok|healthy|active|enabled|closed|solved"
    r"|resolved|accepted|completed?|done|passed)\"|\"(?:ok|success)\"\s{0,9}:\s{0,9}true\b"
    r"|\ball checks passed\b"
)
_SUCCESS_CUES: Final = (
    *("success", "succeeded", "no changes", '"status"', '"state"', '"result"', '"ok"'),
    *("all checks passed", "has been executed", "warning: "),
)
"""One of these stands in every text in which _SUCCESS or _WARNED matches."""
_WARNED = re.compile(r"[^\n]{0,200}:[0-9]+: [a-z]*warning: ")
"""A warning of Python's, which came instead of output."""
_FATAL = re.compile(r"(?m)^(?:traceback|[a-z_.]*(?:error|exception)\b)")
_REMINDER = re.compile(
    r"\(remember: [^\n]*|\bchanges that are required\b"
    r"|<system-reminder>.*?</system-reminder>",
    re.DOTALL,
)
"""What a tool tells every time, of a matter of its own."""
_RUNNING_CUES: Final = (
    *("running", "still ", "no new output", "in progress", "in_progress", "in-progress", "queued"),
    *("not finished", "not completed", "not exited", "not yet ", "pending", "processing"),
    *(
        "waiting for ",
        "progressing",
        "provisioning",
        "starting up",
        "läuft noch",
        "noch nicht",
        "wird noch",
        "en cours",
        "en curso",
        "en ejecución",
        "en proceso",
        "em andamento",
        "em execução",
    ),
    *("выполняется", "в процессе", "正在", "中", "실행 중", "처리 중"),
)
"""One of these stands in every text in which _RUNNING matches."""
_NO_LONGER = re.compile(r"\b(?:no|not|nothing|none)\b[a-z ]{0,30}\b(?:running|in progress)\b")
_VERDICT = re.compile(
    r"(?:no|nope|nothing|none|(?:none|nothing|not) found|(?:does )?not exist|(?:already )?exists"
    r"|missing|unknown|invalid|rejected|declined|busy|unavailable|out of stock|n/a"
    r"|no (?:answer|reply|response|show|interest)|no [a-z]{1,20} (?:required|needed|necessary)"
    r"|(?:(?:it|host|this|field|item) (?:is )?)?not (?!found\b|auth|permit|allow|support|log|sign"
    r"|connect|impl|config|initiali|recogni|valid\b|enough|access|read|open\b|load|defin|accept|work|respon|sav"
    r"|sent\b|appl|updat|chang|yet\b|now\b)[a-z-]{1,24}(?: (?:in|on|out)(?: [a-z]{1,24})?)?"
    r"|(?:[a-z]{1,12} )?not (?:available|interested|eligible|applicable)"
    r"|expired|(?:order )?cancell?ed|incorrect|wrong guess"
    r"|\{\s*\"(?:status|state|result|verdict)\"\s*:\s*"
    r"\"(?:not[ _-](?!found|auth|allow|support|valid)[a-z]{1,20}|cancell?ed|expired"
    r"|missing)\"\s*\})"
    r"[.!]?"
    # An object of few fields, one of which is yes or no, and none of which tells of an error.
    r"|\{\s*(?:\"[a-z_]{1,32}\"\s*:\s*\"[^\"\n]{0,64}\"\s*,\s*)?"
    r"\"(?:is_|in_)?(?:valid|eligible|available|exists?|found|stock|vulnerable|compatible|registered"
    r"|taken|match(?:es|ed)?)\"\s*:\s*(?:true|false)\s*"
    r"(?:,\s*\"(?!error)[a-z_]{1,32}\"\s*:\s*(?:\"[^\"\n]{0,120}\"|[0-9.]+|null|true|false)\s*){0,4}\}"
)
"""Answers to a question of yes or no: many different questions rightly share them."""
_CONFIRMED = re.compile(
    r"(?:\{\s*\"(?:[a-z_]{0,24}ed|ok|success)\"\s*:\s*true\b"
    r"|\{\s*\"(?:status|state|result)\"\s*:\s*\"(?!fail|reject|refus|deni|declin|abort|block)[a-z]+ed\""
    r"|(?:(?!no\b|not\b|never\b|none\b|nothing\b|cannot\b)[a-z0-9'#./\\:_-]+ ){0,7}?"
    r"(?:approved|moved|saved|created|updated|issued|sent|generated|granted|added|removed|deleted"
    r"|archived|scheduled|registered|enabled|disabled|resolved|closed|assigned|refunded|submitted"
    r"|published|accepted|booked|reserved|cancell?ed|applied|uploaded|marked|merged|started|stopped"
    r"|paid|completed|restarted|deployed|revoked|forwarded|transferred)\b[^.\n]{0,60}[.!](?:\s|\Z))"
)
"""How a confirmation begins: whatever it then says is advice, unless it tells of an error."""
_TELLS_OF_ERROR = re.compile(r"\b(?:errors?|fail\w*|exceptions?|traceback|invalid|however|but)\b")
_TURNED_AWAY = re.compile(
    r"\b(?:contact (?:your|the|an) (?:[a-z]+ )?administrator|(?:log|sign) ?in (?:first|again|to )"
    r"|(?:log|sign)[- ]?in (?:is )?required|logged out|rate limit|slow down"
    r"|access (?:is )?restricted"
    r"|(?:been|are) (?:blocked|banned|suspended)|quota (?:is )?(?:used up|reached|exhausted)"
    r"|insufficient (?:permissions?|privileges|rights|scopes?|access|quota|credits?)"
    r"|upgrade (?:your|to a)|sorry, (?:but )?(?:i|we) |(?:down|closed) for maintenance"
    r"|under maintenance|disabled for your|(?:verify|confirm) your identity|captcha"
    r"|only (?:usable|available|allowed) (?:in|for|to)|(?:database|file|table|account) is locked"
    r"|read-only (?:mode|file ?system)|out of memory|try again (?:later|in)|a valid api key"
    r"|is deprecated)\b"
)
"""What a system says to whoever it does not serve, in words that are none of a refusal alone."""
_TURNING_WORDS: Final = frozenset(
    "administrator log login sign signin logged rate slow restricted blocked banned suspended "
    "quota insufficient upgrade sorry maintenance disabled identity captcha only locked read "
    "memory later again valid deprecated".split()
)
"""One of these stands in every text in which _TURNED_AWAY matches."""
_EXIT_FAILED = re.compile(r"\bexit(?:ed with)?(?: ?code| status)?[ :=]*-?[1-9]")
_WORD = re.compile(r"[a-zß-ÿ'\u2019]+")
_ONLY_WORDS: Final = "".join(chr(n) if _WORD.match(chr(n)) else " " for n in range(128))
"""Of ASCII, what is no part of a word as a space."""
_REFUSALS: Final = frozenset(
    "no not never nor neither without nothing none error errors exception exceptions traceback "
    "fail fails failed failing failure failures fatal panic panicked invalid illegal cannot unable "
    "unknown unexpected unsupported undefined unrecognized denied refused rejected forbidden "
    "unauthorized missing timeout timed aborted abort wrong bad incorrect mismatch conflict "
    "conflicts expired exceeded exceeds too must required exists killed crashed unavailable "
    "cancelled canceled "
    # German, French, Spanish, Portuguese and Italian.
    "nicht verweigert verboten fehlgeschlagen fehlt fehler fehlerhaft ungültig "
    "pas aucun aucune refusé refusée interdit échec échoué erreur introuvable impossible invalide "
    "denegado denegada prohibido falló fallido inválido inválida "
    "não negado negada proibido falhou falha erro "
    "negato negata vietato fallito fallita errore "
    "berechtigung abgelaufen anmelden serverfehler erschöpft unbekannter unbekannte unbekannt "
    "ungültige inconnu inconnue indisponible desconocido desconocida agotado caducado esgotado "
    "expirou".split()
)
_REFUSING_ENDS: Final = ("error", "exception", "n't", "n\u2019t")
_DENIALS: Final = frozenset({"no", "without", "nothing", "none", "not"})
"""Words that may as well say that a search found nothing."""
_NO_MATCHES = re.compile(
    r"(?<![.,])\b(?:0|no|without|not find|not found) (?!such\b)(?:any )?(?:[a-z()-]+ ){0,3}?"
    r"(?:match(?:es|ed|ing)?|results?|hits?|occurrences?|entries|rows?|records?|items?|files?|lines?"
    r"|found|output|changes?|errors?|warnings?|issues?|problems?|failures?"
    r"|failed|rejected|timed out|bounced|missing|dropped|loss|values"
    r"|diagnostics|differences|violations|findings|logs"
    r"|(?:vulnerabilit(?:y|ies)|advisor(?:y|ies)|alerts|conflicts|duplicates|events|incidents"
    r"|updates|comments|messages|regressions|secrets|drift|usages|references|documents|articles"
    r"|orders|appointments|slots|tickets|emails|notifications|invoices|flights|seats|rooms|hotels"
    r"|bookings|reservations|vacancies|products|customers|contacts|subscriptions|shipments"
    r"|transactions|meetings|listings|openings)(?! (?:was |were |been |be )?"
    r"(?:sent|created|added|made|applied|performed|updated|deleted|changed|saved|posted)))"
    r"\b(?: (?:was|were))?"
    r"(?: found| matched| returned| available)?"
    r"|\b(?:nothing(?! happen)|none)\b(?: (?:found|matched|to do|to commit))?"
    r"|\bno (?!(?:such|tools?|modules?|commands?|functions?|packages?|methods?|routes?)\b)"
    r"(?:[a-z-]+ ){1,3}?(?:detected|found|available)\b"
    r"|(?<!tool )(?<!service )(?<!server )(?<!command )(?<!function )(?<!access )"
    r"\b(?:is|are) not (?:currently )?(?:available|eligible|affected|covered|included|registered"
    r"|in stock|listed|vulnerable)\b"
)
_DENIED_FIELD = re.compile(
    r"(?:(?:error|fail|warning|timed_out|invalid|unknown|missing|cancell?ed|conflict|reject|bounced"
    r"|dropped)[a-z_]{0,20}"
    r"(?: [a-z]{1,12})?\"?\s{0,9}[:=]\s{0,9}|^# (?:fail|cancelled) )"
    r"(?:null|none|false|0(?:\.0{1,6})? ?%?|\"\"|\[\s{0,9}\]|\{\s{0,9}\})(?![\w.])",
    re.MULTILINE,
)
"""A field of a report that says that nothing went wrong: `"error": null`."""
_WARNING_LINE = re.compile(r"(?m)^(?:npm )?warn(?:ing)?\b[^\n]*")
_ADVICE = re.compile(
    r"(?<=[a-z]{3}[.!]) (?:please|review|check|make sure|edit the file again|note that|if you|use"
    r"|you (?:can|may))\b[^.\n]*"
    r"|\b(?:no need|not need) to\b[^.\n]*"
    r"|\bno (?:further|additional|other) [a-z]{1,12} (?:is|are) (?:required|needed|necessary)\b"
    r"|\b(?:cannot|can not|can't|can\u2019t) be (?:undone|reversed|reverted)\b"
)
"""What a confirmation goes on to say: it tells of errors that there might be."""
_UNFOUND = re.compile(
    r"\b(?:not found|not find|(?:no|0) (?:exact )?(?:match(?:es)?|occurrences?|changes))\b"
)
"""Of a call that was to change something: what it was to change is not there."""
_UNFOUND_CUES: Final = (" found", "not find", "match", "occurrence", "no changes")
_LISTED = re.compile(r"\}\s{0,9},\s{0,9}\{")
"""Things in a list of JSON: however short, it is what was asked for."""
_ELEMENT = re.compile(
    r"^[-* \t]{0,40}(?:\[[0-9]{1,6}\] ?<[a-z]"
    r"|(?:\[[0-9]{1,6}\]|[0-9]{1,4}:) (?:button|link|text|statictext|title|heading|field|textbox"
    r"|item|image|icon|img|checkbox|radio|switch|tab|menu|menuitem|option|combobox|listitem"
    r"|address|keyboard|row|cell)\b"
    r"|[a-z]{1,20}:? [^\n]{0,120}\[(?:ref=[a-z0-9]{1,8}|[es][0-9]{1,6})\])",
    re.MULTILINE,
)
"""An element of a page, as browser-use, WebArena, Playwright and drivers of phones list it."""
_ELEMENTS_MIN: Final = 2
_SCREENSHOT = re.compile(r"screenshot \([^)\n]{1,40}\): ?\S")
"""A picture in words."""
_ENDS: Final = ("bottom", " top", " end", "beginning", " page", " screen")
_AT_THE_END = re.compile(
    r"\A(?:the )?(?:end|bottom|top)(?: of (?:the )?(?:page|list|file|document|results))?[.!]?\Z"
    r"|\b(?:at|reached|hit) (?:the )?(?:very )?(?:bottom|top|end|beginning|first page|last page)"
    r"(?: of the (?:page|list|file|document|results))?(?:[.!\n]|\Z)"
    r"|\bno (?:visible )?changes? (?:on|to|in|of) the (?:page|screen)\b"
    r"|\b(?:page|screen) (?:is unchanged|(?:did not|didn.t|has not|hasn.t) changed?)\b"
)
"""Of a step that was to lead on: there is nothing further, or it led nowhere."""


def result_kind(text: str, *, wrote: bool = False, failed: bool = False) -> ResultKind:
    """The kind of a tool's result, of a call that `wrote` or another; whatever is long is PLAIN.

    EMPTY says nothing, or only that the exit code is 0 or 1. RUNNING says as a whole that something
    still runs. ACKNOWLEDGEMENT is short and refuses nothing, or has found nothing.
    """
    acknowledging = WRITTEN_MAX if wrote else ACKNOWLEDGEMENT_MAX
    if len(text) > max(acknowledging, CONFIRMED_MAX) and not text.isspace():
        return ResultKind.PLAIN
    told = framed(text)
    said = told.printed.lower()
    if told.exit_code in SEARCHED and _NOTHING.fullmatch(said):
        return ResultKind.EMPTY
    if said == "0" and (told.exit_code == 1 or (failed and told.exit_code is None)):
        return ResultKind.EMPTY  # `grep -c` counted none
    if _is_running(said) or is_on_its_way(told.printed):
        return ResultKind.RUNNING
    if told.exit_code:
        return ResultKind.PLAIN
    if len(said) > acknowledging and _confirms(said):
        acknowledging = CONFIRMED_MAX
    if "warning: " in said and len(said) <= acknowledging and _is_mere_warning(said):
        return ResultKind.ACKNOWLEDGEMENT
    if not wrote and (_LISTED.search(said) or _shows_a_screen(said)):
        return ResultKind.PLAIN
    if len(said) <= acknowledging and not _refuses(said, wrote=wrote):
        return ResultKind.ACKNOWLEDGEMENT
    return ResultKind.PLAIN


def _shows_a_screen(said: str) -> bool:
    """Whether it lists what can be seen: however short, that is what a step led to."""
    if "\n" in said and sum(1 for _ in _ELEMENT.finditer(said)) >= _ELEMENTS_MIN:
        return True
    return said.startswith("screenshot (") and _SCREENSHOT.match(said) is not None


def _is_mere_warning(said: str) -> bool:
    return _WARNED.match(said) is not None and _FATAL.search(said) is None


def _confirms(said: str) -> bool:
    return any(cue in said for cue in _SUCCESS_CUES) and (
        _SUCCESS.search(said) is not None or _WARNED.match(said) is not None
    )


def _is_running(said: str) -> bool:
    return (
        len(said) <= RUNNING_MAX
        and any(cue in said for cue in _RUNNING_CUES)
        and said.count("\n") < RUNNING_LINES_MAX
        and _RUNNING.search(said) is not None
        and _NO_LONGER.search(said) is None
    )


def _refuses(said: str, *, wrote: bool) -> bool:
    if _VERDICT.fullmatch(said):
        return False
    if "exit" in said and _EXIT_FAILED.search(said):
        return True
    if not wrote and not _TURNING_WORDS.isdisjoint(_words(said)) and _TURNED_AWAY.search(said):
        return True
    if any(end in said for end in _ENDS) and _AT_THE_END.search(said):
        return True
    if wrote and any(cue in said for cue in _UNFOUND_CUES) and _UNFOUND.search(said):
        return True
    confirmed = _CONFIRMED.match(said) if wrote else None
    if confirmed and not _TELLS_OF_ERROR.search(_forgiven(said[confirmed.end() :])):
        return False
    said = without_nothing_found(said)
    if refuses_elsewhere(said):
        return True
    # What is forgiven is looked for last: it takes longer, and most texts have no such word.
    said = without_in_the(said)
    refusals = _refusing_words(said)
    if refusals:
        said = _WARNING_LINE.sub("", said)
        said = _REMINDER.sub("", said)
        said = _DENIED_FIELD.sub(" ", said)
        said = without_no_errors(said)
        said = _ADVICE.sub("", said) if wrote else said
        refusals = _refusing_words(said)
    if not refusals or (refusals.isdisjoint(_DENIALS) and "0 " not in said):
        return bool(refusals)
    return bool(_refusing_words(_NO_MATCHES.sub(" ", said)))


def _forgiven(said: str) -> str:
    """What a confirmation goes on to say, without what it says did not go wrong, and advice."""
    return _NO_MATCHES.sub(" ", _ADVICE.sub(" ", said))


def _refusing_words(said: str) -> frozenset[str]:
    refusing = _REFUSALS.intersection(_words(said))
    for end in _REFUSING_ENDS:
        if end in said:
            return refusing.union(word for word in _words(said) if word.endswith(_REFUSING_ENDS))
    return refusing


def _words(said: str) -> list[str]:
    if said.isascii():
        return said.translate(_ONLY_WORDS).split()  # a fifth of the time that the pattern takes
    return _WORD.findall(said)
