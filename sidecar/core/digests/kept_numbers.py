"""What stands before a number that tells errors apart, and so is not masked.

Each is written twice: as proto/digests.md has it, and from its end to its beginning, since a text
is looked at backwards from its numbers.
"""

from sidecar.core.digests.masks import in_either_case

_DATABASE = rb"(?:operational|programming|integrity|internal|interface|database|notsupported|data)"
"""Kinds of errors of databases in Python (PEP 249), which begin with the server's own code."""
CODE = (
    rb"(?i:(?:^|[^0-9a-z])(?:(?:errno|code|status|sqlstate|sqlcode|winerror|hresult"
    rb"|exit(?:ed)?(?: with)?|(?:error|err|msg) ?(?:code|status|number))"
    rb"(?: ?(?:code|status))?[ :=#(\[]{0,3}|(?:error|err|msg)[ #(\[]{0,2})-?"
    rb"|error [0-9]{1,5} \(|(?:error|exception) \(|"
    + _DATABASE
    + rb"error[:)]? ?\()|[A-Z]{2}-(?:[0-9]{4}-)?"
)
"""What a number follows that is a code, long as it may be."""
CODE_BACKWARDS = (
    rb"-?+(?:[ :=#(\[]{0,3}+(?=[dehorstDEHORST])"
    + in_either_case(
        rb"(?:(?:edoc|sutats) ?)?(?:onrre|edoc|sutats|etatslqs|edoclqs|rorreniw|tluserh"
        rb"|(?:htiw )?(?:de)?tixe|(?:edoc|sutats|rebmun) ?(?:rorre|rre|gsm))"
    )
    + rb"|[ #(\[]{0,2}+(?=[grGR])"
    + in_either_case(rb"(?:rorre|rre|gsm)")
    + rb")(?:\Z|[^0-9A-Za-z])|\( [0-9]{1,5} "
    + in_either_case(rb"rorre")
    + rb"|\( "
    + in_either_case(rb"(?:rorre|noitpecxe)")
    + rb"|\( ?[:)]?"
    + in_either_case(
        rb"rorre(?:lanoitarepo|gnimmargorp|ytirgetni|lanretni|ecafretni|esabatad|detroppuston|atad)"
    )
    + rb"|-(?:[0-9]{4}-)?[A-Z]{2}"
)
PORT = rb"(?:<ip>|^|[\])0-9A-Za-z \t(\"']):|\b(?i:ports?)[ :=#]{1,3}"
"""What a port follows."""
PORT_BACKWARDS = (
    rb":(?:>pi<|\Z|[\])0-9A-Za-z \t(\"'])|[ :=#]{1,3}" + in_either_case(rb"s?trop") + rb"\b"
)
