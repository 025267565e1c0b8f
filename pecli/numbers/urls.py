"""Whether a name is a URL, and how it is said: asking loads nothing."""

from __future__ import annotations

import re

_URL = re.compile(r"(?!file:)[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_WORD = re.compile(r"(?<=://)[^\s\"'<>]+")
_LOGIN = re.compile(r"[^/?#@:]*:(?!:|\d+(?:[/?#]|$))")  # a user and the colon before a password, not before a port
_REST = re.compile(r"([?#]).*", re.DOTALL)
LONGEST = 32  # characters of a protocol and ://
SHORT = 4  # characters below which a secret is left where it stands by itself: it may be any word

_names: dict[str, str] = {}  # of URLs that were opened, without "scheme://", and what is said instead
_secrets: set[str] = set()


def is_url(text: str) -> bool:
    """Whether a text names something behind a protocol, such as s3:// or https://."""
    return _URL.match(text) is not None


def url_name(text: str) -> str:
    """Return what messages call a URL, and have its secrets hidden from now on, whatever characters they have.

    Parameters
    ----------
    text : str
        A URL, or a text that ends in one.
    """
    at = text.find("://") + 3
    if at < 3 or not _URL.search(text, max(0, at - LONGEST)):
        return text
    rest = text[at:]
    name = _bare(rest)
    if name != rest:
        from urllib.parse import quote, unquote  # only where there is a secret: it takes as long as a small command

        login, _, _ = rest.rpartition("@")
        _names[rest] = name
        parts = (login, login.partition(":")[2], *re.split("[?#]", rest)[1:])
        _secrets.update(form for part in parts for form in (part, quote(part), unquote(part)) if len(part) >= SHORT)
    return text[:at] + name


def shown(text: str, secrets: bool = False) -> str:
    """Return a text without what URLs in it may keep secret: user, password, signed query, fragment.

    Parameters
    ----------
    text : str
    secrets : bool
        Whether the secrets of opened URLs are hidden where they stand by themselves too, as in what a library says; not
        in results, in which a password may be a number.

    Examples
    --------
    >>> shown("https://me:secret@host/a.npy?X-Amz-Signature=1 is damaged")
    'https://host/a.npy?... is damaged'
    """
    for rest in sorted(_names, key=len, reverse=True):
        text = text.replace(rest, _names[rest])
    if secrets and _secrets:
        text = re.sub("|".join(map(re.escape, sorted(_secrets, key=len, reverse=True))), "...", text)
    return _WORD.sub(lambda word: _bare(word[0]), text) if "://" in text else text


def _bare(rest: str) -> str:
    """Return what follows "://" without secrets; of what can be read in more than one way nothing is left."""
    login, at, place = rest.rpartition("@")
    if at and _LOGIN.match(rest):  # a password may have any character, so that only the last @ ends it
        if re.search("[?#]", login):
            return "..."
        rest = place
    else:
        host = re.split("[/?#]", rest, maxsplit=1)[0]
        rest = rest[host.rfind("@") + 1 :]
    return _REST.sub(r"\1...", rest)
