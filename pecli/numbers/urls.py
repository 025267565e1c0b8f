"""Whether a name is a URL, and how it is said: asking loads nothing."""

from __future__ import annotations

import re

_URL = re.compile(r"(?!file:)[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_USER = re.compile(r"(://)[^/@\s\"']+@")
_QUERY = re.compile(r"(://[^\s?\"']+\?)[^\s\"']+")


def is_url(text: str) -> bool:
    """Whether a text names something behind a protocol, such as s3:// or https://."""
    return _URL.match(text) is not None


def shown(text: str) -> str:
    """Return a text without what URLs in it may keep secret: user, password, signed query.

    Examples
    --------
    >>> shown("https://me:secret@host/a.npy?X-Amz-Signature=1 is damaged")
    'https://host/a.npy?... is damaged'
    """
    return _QUERY.sub(r"\1...", _USER.sub(r"\1", text)) if "://" in text else text
