"""Sentences that give a model orders, and questions that ask for its instructions; Korean and English."""

from __future__ import annotations

import re
import unicodedata

_TARGET_EN = (
    r"(?:(?:system|hidden|internal|initial) (?:prompt|message|instructions?|rules)"
    r"|(?:previous|prior|above|earlier|preceding|all|your|these|the) (?:\w+ ){0,3}?"
    r"(?:instructions?|prompts?|rules|guidelines)|text above|check ?word|canary)"
)
_TARGET_KO = (
    r"(?:시스템 ?(?:프롬프트|메시지)|(?:이전|위|앞|지금까지|모든|당신의|너의|내부|숨겨진)[의 ]{0,3}(?:모든 )?"
    r"(?:지시|명령|규칙|프롬프트|지침)\w*|지시문|프롬프트|확인용 ?낱말|카나리)"
)
_DO_EN = (
    r"(?:ignore|disregard|forget|override|repeat|reveal|print|show|output|write|translate|encode|say|tell|give|spell"
    r"|copy|recite|display)"
)
_DO_KO = r"(?:무시|잊|출력|보여|공개|반복|번역|인코딩|말해|알려|적어|적으|써|드러내|나열|복사|읊)"
# A manual says what to do with this model, and a form asks to reply by mail only: such sentences are no orders to us.
_ORDER = re.compile(
    rf"\b{_DO_EN}\b[^.!?\n]{{0,60}}?\b{_TARGET_EN}|{_TARGET_KO}[^.!?\n]{{0,40}}?{_DO_KO}"
    r"|\b(?:you are now|from now on,? you|act as|pretend (?:to be|that you)|as an ai\b)"
    r"|\bsystem ?(?:message|override) ?:"
    r"|\b(?:answer|reply|respond|say|write)\b[^.\n]{0,30}\b(?:that the answer (?:was|is) not found|not found)\b"
    r"|(?:너는|당신은) (?:이제|지금부터)|지금부터 (?:너는|당신은)|시스템 ?메시지 ?:|(?:라고|으로)만 (?:답|대답|말)"
    r"|못했다고 (?:답|대답|말)하(?:라|세요|십시오)"
    r"|(?:AI|인공지능|챗봇|assistant|chatbot)\w*[:,에는은]* ?[^.\n]{0,40}"
    r"(?:하세요|하라|해라|마세요|must|should (?:say|answer|reply))",
    re.I,
)
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|‘[^’\n]*’|'[^'\n]*'|`[^`\n]*`|「[^」\n]*」")
_ASKED = re.compile(
    rf"\b{_DO_EN}\b[^?\n]{{0,60}}?\b{_TARGET_EN}"
    r"|what (?:are|is|were|was) your (?:\w+ )?(?:instructions|rules|prompt|check word)"
    rf"|{_TARGET_KO}[^?\n]{{0,40}}?{_DO_KO}"
    r"|(?:너|당신|네|니)의? ?(?:규칙|지시|프롬프트)\w*[^\n]{0,10}(?:뭐|무엇|알려|보여)",
    re.I,
)


def is_order(text: str) -> bool:
    """Whether a sentence orders a model about; what it quotes of such orders does not count."""
    return bool(_ORDER.search(_QUOTED.sub("…", unicodedata.normalize("NFKC", text))))


def asks_for_instructions(question: str) -> bool:
    """Whether a question wants the instructions that the model was given, rather than the documents."""
    return bool(_ASKED.search(unicodedata.normalize("NFKC", question)))
