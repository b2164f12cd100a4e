"""What a question asks for: a person, a date, a number, a place, a meaning; and what it insists on."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from silmari.answering.wording import language_of
from silmari.language.times import times_in, without

Sought = Literal["person", "time", "number", "place", "reason", "phone", "email", "meaning"]

_ASKS: tuple[tuple[Sought, re.Pattern[str]], ...] = (
    ("person", re.compile(r"누구|누가|누굴|\bwho(m|se)?\b|어느 (분|사람)|담당자|책임자|대표(는|이|가)|이름", re.I)),
    (
        "time",
        re.compile(
            r"언제|며칠|몇\s*(년|월|일|시|분기|주)|날짜|일자|기한|마감|\bwhen\b"
            r"|\b(what|which) (year|date|day|month|time)\b|\bdeadline\b|\bdue\b",
            re.I,
        ),
    ),
    (
        "number",
        re.compile(
            r"얼마|몇|금액|가격|비용|매출|수량|단가|비율|인원"
            r"|\bhow (many|much|long|far|old|tall|big|large|high|often)\b"
            r"|\b(price|cost|amount|number|rate|total|revenue|percentage|budget)\b",
            re.I,
        ),
    ),
    (
        "place",
        re.compile(
            r"어디|어느 (곳|지역|도시|나라|국가)|장소|위치|주소|\bwhere\b"
            r"|\blocat|\b(which|what) (city|country|place)\b",
            re.I,
        ),
    ),
    ("reason", re.compile(r"왜|이유|원인|까닭|\bwhy\b|\breasons?\b|\bcaused?\b", re.I)),
    (
        "phone",
        re.compile(r"(전화|휴대폰|핸드폰|팩스)\s*번호|연락처|\b((tele)?phone|mobile|contact|fax) numbers?\b", re.I),
    ),
    ("email", re.compile(r"메일\s*주소|전자\s*우편\s*주소|\be-?mail address", re.I)),
    (
        "meaning",
        re.compile(
            r"(이?란|란|(은|는|이|가))\s*(무엇|뭐|뭔|어떤)|무슨 뜻|의미|정의"
            r"|\bwhat (is|are|was|were) (a |an |the )?[^?]{1,60}\??\s*$"
            r"|\bmean(s|ing)?\b|\bdefin",
            re.I,
        ),
    ),
)
_MONTHS = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_SHOWS: Mapping[Sought, re.Pattern[str]] = {
    "time": re.compile(
        rf"(?<!\d)(1[5-9]|20)\d\d(?!\d)|\d+\s*(년|월|일|시|분기)|\d{{1,2}}[./-]\d{{1,2}}|\b{_MONTHS}\s+\d|\d\s+{_MONTHS}"
        r"|[월화수목금토일]요일|\b(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|매(년|월|주|일)|오전|오후"
    ),
    "number": re.compile(
        r"\d|[일이삼사오육칠팔구십백천만억]+\s*(명|개|원|건|대|곳|번|회|퍼센트)|한 |두 |세 |네 "
        r"|\b(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred|thousand|million|dozen)\b",
        re.I,
    ),
    "person": re.compile(
        r"[가-힣]{2,4}\s*(씨|님|교수|박사|대표|사장|회장|이사|부장|과장|차장|팀장"
        r"|대리|사원|주임|장관|의원|기자|감독|작가|선수|원장|소장|위원)"
        r"|(담당|책임|작성|성명|이름|대표)[^:\n]{0,6}:\s*\S"
        r"|\b[A-Z][a-z]+ (?:[A-Z]\. )?[A-Z][a-z]+|\b(Mr|Ms|Mrs|Dr|Prof)\."
    ),
    "place": re.compile(
        r"[가-힣]+(시|도|군|구|읍|면|동|로|길|역|층|호|관|국|섬|항|공장|본사|지사|센터)(?![가-힣]{3})"
        r"|\b(in|at|near|on the) [A-Z]|\b(Street|Avenue|Road|Building|Room|Floor|City)\b"
    ),
    "reason": re.compile(
        r"때문|원인|이유|까닭|인해|인하여|인한|탓|덕분|위해|위하여"
        r"|\b(because|due to|owing to|caused?|as a result|resulted|came from|reasons?|so that|in order to)\b",
        re.I,
    ),
    "phone": re.compile(r"\d{2,4}[-). ]{1,2}\d{3,4}[-. ]\d{4}|\+\d[\d -]{6,}|(?<!\d)1\d{3}-\d{4}"),
    "email": re.compile(r"[^@\s]@[^@\s]+\.\w"),
}
# What these ask for has a form of its own: without at least this, nothing is an answer.
_UNMISTAKABLE: Mapping[Sought, re.Pattern[str]] = {"phone": re.compile(r"\d{2}"), "email": re.compile("@")}
_OF_ALL = re.compile(r"전체|합계|총계|총액|총합|합산|\b(grand |sub)?totals?\b|\boverall\b|\baltogether\b", re.I)
_OF_MANY = re.compile(
    r"가장|제일|최대|최소|최고|최저|최다|목록|명단|모두|모든|전부|각각|각\s|별로?\s|평균|순위|몇\s*(명|개|대|건|곳|종)"
    r"|\b(most|least|highest|lowest|largest|smallest|latest|earliest|longest|list|all|each|every|average|how many)\b",
    re.I,
)
_OF_OLD = re.compile(
    r"이전|예전|과거|옛|종전|개정\s*전|당초|기존|바뀌|변경|변했|달라|비교|차이"
    r"|\b(old|older|former|formerly|previous|previously|used to|chang\w+|compar\w+|differ\w*|before|original\w*)\b",
    re.I,
)
_INTERROGATIVES = (
    "누구 누가 무엇 뭐 뭔 무슨 언제 어디 어느 어떤 어떻게 왜 얼마 몇 며칠 인가요 인가 입니까 "
    "알려 알려줘 알려주세요 주세요 말해 설명 설명해 궁금 대해 대하여 관한 관하여 대한 것 수 있다 하다 되다 이다 "
    "who whom whose what when where which why how many much do does did is are was were the a an of to in for on at "
    "please tell me about there be it"
)
_CODE = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z0-9/_.-]*[A-Za-z])[A-Za-z0-9]+(?:[-_/.][A-Za-z0-9]+)*(?![A-Za-z0-9])")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, understood as far as quoting needs it.

    Attributes:
        weights: Weight of each of its tokens, question words left out, summing to 1 (empty when it
            has no other words).
        sought: What kinds of answer it asks for.
        codes: Codes such as part numbers that it names; an answer about another code is none.
        years: Years that it names.
        language: Of the question, ``ko`` or ``en``.
        total: Whether it asks for the sum of a whole table.
        many: Whether it asks for more than single rows: for all of them, their number, the largest one.
        newest: Whether of two versions of a rule the newer one counts: it names no other time.
    """

    weights: Mapping[str, float]
    sought: tuple[Sought, ...]
    codes: tuple[str, ...]
    years: tuple[str, ...]
    language: str = "en"
    total: bool = False
    many: bool = False
    newest: bool = True

    @property
    def unmistakable(self) -> tuple[Sought, ...]:
        """The kinds sought that have a form of their own, such as that of a telephone number."""
        return tuple(kind for kind in self.sought if kind in _UNMISTAKABLE)

    def shows(self, text: str) -> bool:
        """Whether a text has what is sought on its face (a number, a date, a name, a place).

        Of a question for a telephone number, a number alone is not enough.
        """
        kinds = self.unmistakable or self.sought
        return any(kind in _SHOWS and _SHOWS[kind].search(text) for kind in kinds)

    def may_show(self, text: str) -> bool:
        """False for a text that cannot have what is sought: no digit for a telephone number."""
        return all(_UNMISTAKABLE[kind].search(text) for kind in self.unmistakable)


def understand(
    question: str, weigh: Callable[[str], Mapping[str, float]], tokens: Callable[[str], Sequence[str]]
) -> Asked:
    """Take a question apart.

    Args:
        question: As it was asked, NFC.
        weigh: Gives the question's tokens with idf-like weights.
        tokens: The same analysis, for other texts.
    """
    asking = set(_INTERROGATIVES.split()) | set(tokens(_INTERROGATIVES))
    weights = {token: weight for token, weight in weigh(question).items() if weight > 0 and token not in asking}
    total = sum(weights.values())
    # 2023년 이후 and the last decade are bounds: what answers need not name them.
    named = years(without(question, [time for time in times_in(question, date(2000, 1, 1)).found if not time.closed]))
    return Asked(
        weights={token: weight / total for token, weight in weights.items()},
        sought=tuple(kind for kind, pattern in _ASKS if pattern.search(question)),
        codes=tuple(code for code in _CODE.findall(question) if sum(char.isdigit() for char in code) >= 3),
        years=tuple(sorted(named)),
        language=language_of(question),
        total=bool(_OF_ALL.search(question)),
        many=bool(_OF_MANY.search(question)),
        newest=not named and not _OF_OLD.search(question),
    )


def missing(asked: Asked, texts: Iterable[str]) -> str | None:
    """What the question insists on and no text has: a code, or its only years; None if nothing is.

    A passage about part MX-300 does not answer a question about MX-500, however alike they are.
    """
    seen = "\n".join(texts)
    squeezed = squeeze(seen)
    for code in asked.codes:
        if squeeze(code) not in squeezed:
            return code
    if asked.years and not any(year in seen for year in asked.years):
        return ", ".join(asked.years)
    return None


def years(text: str) -> set[str]:
    """The years from 1900 to 2099 that a text names."""
    return set(_YEAR.findall(text))


def squeeze(text: str) -> str:
    """Letters and digits alone, case-folded, so that ``MX 500``, ``mx-500`` and ``MX500`` meet."""
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())
