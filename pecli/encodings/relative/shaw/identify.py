"""Where distances are clipped, and what is said of another place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pecli.spec.profiles import Candidate, Profile


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield indices of distances that are clipped on both sides."""
    values, at = profile.seen
    if not profile.indexes or at[0] >= 0 or at[-1] <= 0:
        return
    first, last, clip = int(values[0, 0]), int(values[0, -1]), int(values[0, at == 0][0])
    backward, reach = first > last, profile.keys - 1
    right, least = max(first, last) - clip, min(first, last)
    if clip < 1 or right < 0 or least != max(0, clip - reach):
        return
    short = [side for side, cut in (("before", clip), ("after", right)) if cut >= reach]
    right = clip if right == reach and clip > reach else right
    keys = {"dim": "1", "clip": str(clip), "backward": str(backward).lower()}
    keys |= {"right": str(right)} if right != clip else {}
    doubts = (f"distances {' and '.join(short)} the query are not clipped in {profile.keys} keys",) if short else ()
    yield Candidate("shaw", keys, {"form": "index", "length": str(profile.keys)}, doubts=doubts, open=("dim",))


def words(other: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return the message on another clip of distances above 0, given the file's and the expected text."""
    have, wanted = (text or "the clip" for text in other.get("right", ("", "")))
    text = f"distances above 0 end at {have} where they were expected to end at {wanted}"
    return {"right": text} if "right" in other else {}
