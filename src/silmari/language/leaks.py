"""Whether a text gives away another one: word by word, spaced, backwards, shifted or encoded; letter by letter."""

from __future__ import annotations

import base64
import codecs
import html
import re
import unicodedata
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from urllib.parse import unquote

VIEWS = ("letters", "backwards", "lookalikes", "shifted", "base64", "hexadecimal", "codes", "words", "escapes")
# In letters, a Hangul syllable counting two or three (it is taken apart).
HOLD = 5  # in common before text is held back
COUNTED = 14  # in common before it adds to the sum: three English words
RUN = 56  # in common without a break
SUM = 220  # in runs together, if they are also a quarter of the text
_CANARY = 8
_WORDS = 9
_END = "\0"
_LOOKALIKE = str.maketrans(
    "абвгԁеһіјкӏмпорѕтухωαβεικνορτυχуᴀᴇɪᴏᴜ0134578l", "aввгdehijkimпopctyxwaвeikvoptuхyaeiouoieastbi"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]")
_HEX = re.compile(r"[0-9A-Fa-f]")
_ESCAPE = re.compile(r"\\u\{?([0-9a-fA-F]{4,6})\}?|\\x([0-9a-fA-F]{2})")
_CODE = re.compile(r"(?:0b)?[01]{7,21}|\d{2,7}|[.\-·–]{1,5}")
_MORSE = dict(
    zip(
        ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.. "
        "----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----.".split(),
        "abcdefghijklmnopqrstuvwxyz0123456789",
        strict=True,
    )
)


@lru_cache(64)
def squeezed(text: str) -> str:
    """Letters and digits alone, folded and taken apart: spacing, case and punctuation hide nothing."""
    return "".join(char for char in unicodedata.normalize("NFKD", text).casefold() if char.isalnum())


def _lookalike(text: str) -> str:
    return squeezed(text).translate(_LOOKALIKE).translate(_LOOKALIKE)


def _letters(text: str) -> str:
    return "".join(char for char in squeezed(text) if not char.isdigit())


def _shifts(text: str) -> str:
    """The steps from each Latin letter to the next: equal for every Caesar shift, rot13 among them."""
    latin = [ord(char) - 97 for char in text if "a" <= char <= "z"]
    return "".join(chr(97 + (after - before) % 26) for before, after in pairwise(latin))


def _mirrored(steps: str) -> str:
    return "".join(chr(97 + (97 - ord(step)) % 26) for step in steps)


class _Follower:
    """The longest end of what was fed that stands in a secret; any unit a letter, or a word, of a text."""

    def __init__(self, secret: str, limit: int = RUN, hold: int = HOLD, known: str = "") -> None:
        self._secret, self._limit, self._known = secret, limit, known
        self._hold = hold
        self._run = ""
        self._starts: deque[int] = deque()
        self._sum = 0
        self._count = 0

    def feed(self, letters: str, at: int) -> bool:
        """Take letters that begin at a place of the text; whether too much is in common now."""
        tripped = False
        for letter in letters:
            before = len(self._run)
            self._run += letter
            self._starts.append(at)
            while self._run and self._run not in self._secret:
                self._run = self._run[1:]
                self._starts.popleft()
            self._count += 1
            length = len(self._run)
            if length < COUNTED and length < self._limit:
                continue
            if self._known and self._run in self._known:
                continue
            if length > before:
                self._sum += COUNTED if length == COUNTED else 1
            tripped = tripped or length >= self._limit or self._sum >= max(SUM, self._count / 4)
        return tripped

    @property
    def since(self) -> int | None:
        """Where the text begins that has to wait."""
        return self._starts[0] if len(self._run) >= self._hold else None


@dataclass(slots=True)
class _Bytes:
    """Groups of characters that are bytes, decoded as they come."""

    size: int
    skip: int
    group: str = ""
    starts: list[int] = field(default_factory=list)
    decoder: codecs.IncrementalDecoder = field(default_factory=lambda: codecs.getincrementaldecoder("utf-8")("ignore"))

    def feed(self, char: str, at: int) -> tuple[str, int]:
        if self.skip:
            self.skip -= 1
            return "", at
        self.group += char
        self.starts.append(at)
        if len(self.group) < self.size:
            return "", at
        group, self.group = self.group, ""
        start, self.starts = self.starts[0], []
        raw = base64.b64decode(group.translate({45: 43, 95: 47})) if self.size == 4 else bytes.fromhex(group)
        return self.decoder.decode(raw), start


class LeakGuard:
    """Stops a text that begins to repeat a secret, before the repetition is shown.

    What agrees with the secret is held back from its first letter until it departs from it; a run that grows
    too long, or many runs together, trip the guard. The secret is also known backwards, with every shift of the
    alphabet, in look-alike letters, in base64, hexadecimal, character codes and Morse, and with its words turned round.

    Args:
        secret: What must not be repeated.
        canaries: Words of which no part may be shown.
        known: What may be repeated although it stands in the secret: the reader has it in his documents.
        views: Those looked at.
    """

    def __init__(
        self, secret: str, canaries: Sequence[str] = (), known: str = "", views: Sequence[str] = VIEWS
    ) -> None:
        self._views = frozenset(views)
        self.tripped = False
        self._held = ""
        self._at = 0  # the place of the first held character
        self._word = ""
        self._number = ""
        words = list(canaries)
        self._plain = self._pair(_letters, secret, [], known) if "letters" in self._views else []
        self._exact = [_Follower(_END.join(map(squeezed, words)), _CANARY, 3)] if words else []
        if "backwards" in self._views:
            self._plain.append(_Follower(_letters(secret)[::-1]))
            self._exact += [_Follower(_END.join(squeezed(word)[::-1] for word in words), _CANARY, 3)] if words else []
        self._alike = self._pair(_lookalike, secret, words, known) if "lookalikes" in self._views else []
        steps = _shifts(_letters(secret))
        # Half of a run is enough here: chance does not make it, and Korean rules hold few Latin letters.
        every = [steps, _mirrored(steps), steps[::-1], _mirrored(steps)[::-1]]
        self._shifted = (
            [_Follower(_END.join(every), 40, known=_shifts(_letters(known)))] if "shifted" in self._views else []
        )
        self._exact += (
            [_Follower(_END.join(codecs.encode(squeezed(word), "rot13") for word in words), _CANARY, 3)]
            if words and self._shifted
            else []
        )
        self._latin = ""
        self._decoded: list[tuple[re.Pattern[str], _Bytes, list[_Follower]]] = []
        for name, pattern, size in (("base64", _BASE64, 4), ("hexadecimal", _HEX, 2)):
            if name in self._views:
                for skip in range(size):
                    self._decoded.append((pattern, _Bytes(size, skip), self._pair(squeezed, secret, words, known)))
        self._coded = self._pair(squeezed, secret, words, known) if "codes" in self._views else []
        self._bits = codecs.getincrementaldecoder("utf-8")("ignore")
        self._ids: dict[str, str] = {}
        keys = "".join(self._id(word) for word in re.findall(r"\w+", secret)) if "words" in self._views else ""
        free = "".join(self._id(word) for word in re.findall(r"\w+", known)) if keys else ""
        self._by_word = [_Follower(_END.join((keys, keys[::-1])), _WORDS, 3, known=free)] if keys else []
        self._begun = ""
        self._begun_at = 0

    @staticmethod
    def _pair(view: object, secret: str, words: Sequence[str], known: str) -> list[_Follower]:
        apply = view if callable(view) else squeezed
        pair = [_Follower(apply(secret), known=apply(known))]
        return pair + ([_Follower(_END.join(apply(word) for word in words), _CANARY, 4)] if words else [])

    def feed(self, piece: str) -> str:
        """Take what arrived; return what may be shown now; nothing more once `tripped`."""
        if self.tripped:
            return ""
        for char in piece:
            if self.tripped:
                break
            place = self._at + len(self._held)
            self._held += char
            # An escape such as %EB or &#45817; is only understood whole.
            if "escapes" in self._views and char.isascii() and not char.isspace() and len(self._word) < 400:
                self._word += char
                continue
            self._flush(place)
            self._take(char, place)
        return self._release()

    def close(self) -> str:
        """Return what was still held back, unless `tripped`."""
        self._flush(self._at + len(self._held))
        self._take(" ", self._at + len(self._held))
        held, self._held = self._held, ""
        return "" if self.tripped else held

    def _flush(self, end: int) -> None:
        word, self._word = self._word, ""
        begin = end - len(word)
        shown = _unescaped(word)
        for offset, char in enumerate(shown):
            self._take(char, begin + offset if shown == word else begin)

    def _take(self, char: str, at: int) -> None:
        if self.tripped:  # what follows would end the run that has to be held back
            return
        squeezed_char = squeezed(char)
        letters = _letters(char)
        trips = [follower.feed(letters, at) for follower in self._plain if letters]
        trips += [follower.feed(squeezed_char, at) for follower in self._exact]
        alike = _lookalike(char)
        trips += [follower.feed(alike, at) for follower in self._alike]
        for letter in letters:
            if "a" <= letter <= "z":
                trips += [follower.feed(_shifts(self._latin + letter), at) for follower in self._shifted if self._latin]
                self._latin = letter
        for pattern, decoder, followers in self._decoded:
            if pattern.match(char):
                text, start = decoder.feed(char, at)
                trips += [follower.feed(squeezed(text), start) for follower in followers if text]
        trips += self._codes(char, at) + self._worded(char, at)
        self.tripped = self.tripped or any(trips)

    def _codes(self, char: str, at: int) -> list[bool]:
        if not self._coded:
            return []
        if char in "01.-·–" or char.isdigit():
            self._number += char
            return []
        number, self._number = self._number[:24], ""
        if not number or not _CODE.fullmatch(number):
            return []
        if len(number) == 8 and set(number) <= {"0", "1"}:  # a byte
            text = self._bits.decode(bytes([int(number, 2)]))
        elif not any(one.isdigit() for one in number):
            text = _MORSE.get(number.replace("·", ".").replace("–", "-"), "")
        else:
            value = int(number, 2) if len(number) > 6 and set(number) <= {"0", "1"} else int(number)
            text = chr(value) if 32 <= value < 0xD800 else ""
        return [follower.feed(squeezed(text), at - len(number)) for follower in self._coded]

    def _worded(self, char: str, at: int) -> list[bool]:
        if not self._by_word:
            return []
        if char.isalnum():
            self._begun_at = self._begun_at if self._begun else at
            self._begun += char
            return []
        word, self._begun = self._begun, ""
        return [follower.feed(self._id(word), self._begun_at) for follower in self._by_word] if word else []

    def _id(self, word: str) -> str:
        """A letter for a word, the same whichever way its letters stand."""
        key = "".join(sorted(squeezed(word)))
        return self._ids.setdefault(key, chr(0xF0000 + len(self._ids))) if key and not key.isdigit() else ""

    def _release(self) -> str:
        followers = [*self._plain, *self._exact, *self._alike, *self._shifted, *self._coded, *self._by_word]
        followers += [follower for *_, some in self._decoded for follower in some]
        end = self._at + len(self._held) - len(self._word)
        stop = min([end, *(since for follower in followers if (since := follower.since) is not None)])
        stop = max(stop - self._at, 0)
        shown, self._held = self._held[:stop], self._held[stop:]
        self._at += stop
        return shown


def _unescaped(word: str) -> str:
    """A word with the escapes of URLs, HTML and programs resolved."""
    if not any(mark in word for mark in "%&\\"):
        return word
    resolved = html.unescape(unquote(word, errors="ignore"))
    return _ESCAPE.sub(lambda match: chr(min(int(match[1] or match[2], 16), 0xFFFF)), resolved)


def repeats(text: str, secret: str, known: str = "") -> bool:
    """Whether a text gives away so much of a secret that it must not be shown."""
    guard = LeakGuard(secret, known=known)
    guard.feed(text)
    guard.close()
    return guard.tripped


_SCRIPTS = re.compile(
    r"(?P<latin>[A-Za-zÀ-ɏ])|(?P<hangul>[가-힣ᄀ-ᇿㄱ-ㆎ])|(?P<kana>[ぁ-ヿ])|(?P<han>[一-鿿])|(?P<cyrillic>[Ѐ-ӿ])"
    r"|(?P<greek>[Ͱ-Ͽ])|(?P<arabic>[؀-ۿ])|(?P<hebrew>[֐-׿])|(?P<devanagari>[ऀ-ॿ])|(?P<thai>[฀-๿])"
    r"|(?P<braille>[⠀-⣿])|(?P<styled>[ⅰ-ⓩ🄰-🆉\U0001f1e6-\U0001f1ff])"
)
_SCRIPT_FREE = 12


class ScriptGuard:
    """Stops a text in a writing that those who asked and the sources do not use: a translation of what is secret.

    Args:
        known: Question and sources; three letters of a writing are free for each that stands there, and a dozen.
            Latin letters and Hangul are always free: models answer in either.
    """

    def __init__(self, known: str) -> None:
        self._free = {"latin": 1 << 60, "hangul": 1 << 60}
        for match in _SCRIPTS.finditer(known):
            self._free[match.lastgroup or ""] = self._free.get(match.lastgroup or "", _SCRIPT_FREE) + 3
        self.tripped = False
        self.script = ""

    def feed(self, piece: str) -> str:
        """Return what may be shown; nothing more once `tripped`."""
        for place, char in enumerate(piece):
            if (match := _SCRIPTS.match(char)) and not self.tripped:
                script = match.lastgroup or ""
                self._free[script] = self._free.get(script, _SCRIPT_FREE) - 1
                if self._free[script] < 0:
                    self.tripped, self.script = True, script
            if self.tripped:
                return piece[:place]
        return piece
