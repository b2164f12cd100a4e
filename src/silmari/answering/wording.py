"""The language of a question, and the sentences that a person reads when there is no answer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Literal

Language = Literal["ko", "en"]

NOT_FOUND: Mapping[Language, str] = {
    "ko": "등록된 문서에서 이 질문에 대한 답을 찾지 못했습니다.",
    "en": "The answer to this question was not found in your documents.",
}
REFUSAL: Mapping[Language, str] = {
    "ko": "답변이 내부 지시문을 그대로 옮기려 해서 중단했습니다.",
    "en": "The answer was stopped because it began to repeat internal instructions.",
}
DEGRADED: Mapping[Language, str] = {
    "ko": "작성된 답변을 사용할 수 없어 문서의 문장을 그대로 인용합니다.",
    "en": "The written answer cannot be used; here are the sentences from the documents instead.",
}
REFUSED_QUOTED: Mapping[Language, str] = {
    "ko": "작성된 답변이 내부 지시문을 옮기려 해서 중단하고, 문서의 문장을 그대로 인용합니다.",
    "en": "The written answer was stopped because it began to repeat internal instructions; here are the sentences "
    "from the documents instead.",
}
LINK_REMOVED: Mapping[Language, str] = {"ko": "‹링크 생략›", "en": "‹link removed›"}


def not_found(chosen: Mapping[Language, str]) -> Mapping[Language, str]:
    """What is said when nothing is found, with the user's own sentences in the place of ours."""
    return {**NOT_FOUND, **chosen}


_HANGUL = re.compile(r"[가-힣ㄱ-ㆎ]")
_LETTERS = re.compile(r"[^\W\d_]")
_ENGLISH_FUNCTION_WORDS = frozenset(
    "the a an of to in on at for by with from and or is are was were do does did has have had can will "
    "what who whom whose when where which why how many much tell me about show list give find".split()
)


def language_of(question: str) -> Language:
    """``ko`` for a Korean question, ``en`` for every other.

    Words are counted, not letters: "AutoRAG가 뭐야?" is Korean and "What is 한빛에너지솔루션?" is
    English although their letters say the opposite.
    """
    words = [word for word in unicodedata.normalize("NFC", question[:4000]).split() if _LETTERS.search(word)]
    if not words:
        return "en"
    korean = sum(1 for word in words if _HANGUL.search(word)) / len(words)
    english = any(word.strip("?!.,:;\"'()").lower() in _ENGLISH_FUNCTION_WORDS for word in words)
    return "ko" if korean > (0.5 if english else 0.2) else "en"
