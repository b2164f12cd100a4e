"""Follow-up questions made to stand on their own by rule, in Korean and English.

What a question leaves out is taken from the turns before it: the name that a pronoun means, the year that
``그 다음 해`` counts from, the rest of the sentence of ``그럼 부산은?``. A question that names what it is about is
left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from silmari.answering.wording import language_of

Turn = tuple[str, str]
Names = Callable[[str], Sequence[str]]

_MARKS = re.compile(r"\s?\[\d+\]")
_YEAR = re.compile(r"(?<!\d)(?:1[0-9]|20)\d\d(?!\d)")
_OPENER = re.compile(
    r"^(?:(?:그럼|그러면|그렇다면|그리고|그런데|근데|그래서|아니면|또)[,\s]+|(?:and|but|so|or|then|also|ok|okay)[,\s]+)+",
    re.I,
)
_AFTER = re.compile(
    r"그\s*(?:다음|이듬)\s*(?:해|년도)|이듬해|(?<!\S)다음\s*해(?=[는은엔에도]|\s*\?)"
    r"|\b(?:in\s+)?the\s+(?:following|next|subsequent)\s+year\b|\b(?:in\s+)?the\s+year\s+after(?:\s+that)?\b",
    re.I,
)
_BEFORE = re.compile(
    r"그\s*(?:바로\s*)?(?:이?전|앞|직전)\s*(?:해|년도)|그\s*전년(?:도)?"
    r"|\b(?:in\s+)?the\s+(?:previous|preceding|prior)\s+year\b|\b(?:in\s+)?the\s+year\s+before(?:\s+that)?\b",
    re.I,
)
# 이 대리 is somebody's name, 이 회사 is a pointer.
_HEADS = (
    r"사람|분|인물|남자|여자|왕|작가|감독|회사|기업|기관|단체|팀|부서|곳|장소|나라|국가|도시|지역|마을|제품|모델|물건|상품"
    r"|책|작품|영화|노래|문서|계약|규정|정책|제도|사건|전쟁|행사|대회|학교|대학|건물|프로젝트|사업|서비스|시스템|것|거|건|게"
)
_POINTS_KO = re.compile(
    rf"(?<!\S)(?P<whose>그녀|그분|이분|걔|거기|그곳|이곳|저곳|저기|여기|그것|이것|저것|그거|이거|그건|이건|그게|이게"
    rf"|(?:그|이|저|해당|같은|위)\s(?P<head>{_HEADS})(?=은|는|이|가|을|를|의|에|도|와|과|로|으로|에서|만|부터|까지|\s|\?|$)"
    rf"|그(?=[는의가를]\s|와\s|에게))"
)
_SHORT_KO = {"그건": "는", "이건": "는", "그게": "가", "이게": "가"}
_POINTS_EN = re.compile(
    r"\b(?P<whose>his|their|its|her(?=\s+(?!in\b|at\b|on\b|as\b|to\b|and\b|after\b|before\b|from\b)\w))\b"
    r"|\b(?P<one>he|she|him|her|it|they|them|theirs|hers"
    r"|(?:that|this|the same|those|these|said)\s+(?P<head>person|man|woman|king|queen|writer|company|firm"
    r"|organi[sz]ation|team|place|city|country|town|product|model|book|film|movie|song|document|contract|policy|rule|event|war"
    r"|school|university|building|project|service|system|one|ones)"
    r"|(?:that|this)(?=\s*[?.!]|\s*$))(?!\w)"
    r"|(?<!is\s)(?<!are\s)(?<!was\s)(?<!were\s)\b(?P<there>there)\b(?!\s+(?:is|are|was|were|a|an|any)\b)",
    re.I,
)
_EMPTY_IT = re.compile(
    r"\b(?:does|did|will|would|can|could)\s+it\s+(?:take|cost|make sense|rain|matter)\b.*\bto\b"
    r"|\bit\s+(?:is|was|be)?\s*(?:possible|allowed|necessary|permitted|true|legal|required|safe)\b"
    r"|\b(?:is|was)\s+it\s+(?:possible|allowed|necessary|permitted|true|legal|required|safe|raining|now)\b"
    r"|\bwhat\s+time\s+is\s+it\b",
    re.I,
)
_WHO = re.compile(r"누구|누가|누굴|\bwho(?:m|se)?\b|어느\s*(?:분|사람)", re.I)
_WHO_IS = re.compile(
    r"^\S+(?:\s\S+)?(?<!자)(?<!표)(?<!장)[은는]\s(?:누구|어떤\s사람)|\bwho\s+(?:is|was)\s+(?-i:[A-Z])", re.I
)
_WHERE = re.compile(
    r"어디|어느\s*(?:곳|지역|도시|나라|국가)|\bwhere\b|\b(?:which|what)\s+(?:city|country|place|town)\b", re.I
)
_WHICH = re.compile(r"(?:어느|어떤|무슨|which|what)\s+(?P<head>\w+)", re.I)
_OF_PEOPLE = re.compile(
    r"그녀|그분|이분|걔|사람|인물|남자|여자|^그$|왕|작가|감독|\b(?:he|she|him|her|his|hers)\b|person|man|king|queen|writer",
    re.I,
)
_OF_PLACES = re.compile(r"거기|저기|여기|[그이저]곳|장소|나라|국가|도시|지역|마을|there|place|city|country|town", re.I)

# What things have, not what they are called.
_TRAIT = re.compile(
    r"(?:매출액?|이익률?|(?:비|이자|수익|성장|증가|감소|증감|점유|이용|할인|합격|취업|가동)[율률]"
    r"|손실|비용|예산|가격|값|단가|금액|요금|수수료|급여|연봉|인구|면적|크기|무게|높이|길이|수도|위치|주소|전화번호|번호"
    r"|연락처|이메일|메일|담당자?|책임자|대표|사장|회장|원장|팀장|이름|생일|나이|직업|고향|국적|학력|기간|기한|마감일?|날짜|시간|순위|점수"
    r"|수량|재고|인원|직원 ?수|종업원|설립일?|창립일?|설립자|창업자|발명가?|저자|작가|감독"
    r"|출판사|제조사|보증|결과|이유|원인|목적|장점"
    r"|단점|특징|기능|성능|용량|색상|종류|방법|절차|조건|내용|의미|역사|규모|아버지|어머니|아들|딸|아내|남편|배우자|부모|형제|후계자|전임자|후임자?)$"
)
_IDLE = re.compile(
    rf"^(?:(?:그|이|저)?\s*(?:{_HEADS})|다음\s*해?|이듬해|전\s*해|해|년|얼마|며칠|누구|언제|어디|무엇|뭐|왜|몇|정도|현재|지금"
    r"|그때|당시|때|중|외|밖|다음|이후|이전|그 후|후|전|자세히|설명|또)$"
)
_JOSA = re.compile(
    r"(?:에서는|에게는|에서도|으로는|의 경우(?:에?는|엔)?|에는|로는|은요|는요|이랑은|랑은"
    r"|은|는|이|가|도|을|를|의|엔|에|에서|로|으로|요)$"
)
_TOPIC = re.compile(r"(?:은|는|도|엔|에서는|에는|은요|는요|의 경우(?:에?는|엔)?)\s*[?？]?\s*$")
_DIGITS = dict(zip("0123456789", "영일이삼사오육칠팔구", strict=True))
_ALTERNATING = (("은", "는"), ("이", "가"), ("을", "를"), ("과", "와"), ("으로", "로"), ("이랑", "랑"))
_WHAT_ABOUT = re.compile(
    r"^(?:(?:what|how)\s+about|how\s+is\s+that\s+for)\s+(?:(?:in|for|at|on|of|by|with)\s+)?(?P<what>.+?)\s*[?.!]*$",
    re.I,
)
_AND_WHAT = re.compile(r"^(?:(?:in|for|at|on|of|by|with)\s+)?(?P<what>[^?]{1,60}?)\s*[?.!]*$", re.I)
_SENTENCE_EN = re.compile(
    r"\b(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|has|have|had|can|could|will|would|should"
    r"|tell|list|show|give|explain|find|please)\b",
    re.I,
)
_BARE_EN = frozenset(
    "why when where who whom how much many old long big tall far often exactly so and then since by to with for what "
    "else not which one ones come more further details is was".split()
)
_BARE_KO = re.compile(r"^(?:왜|언제|어디|어디서|얼마|누가|누구|어떻게|몇)\S{0,4}\s*[?？]?$|^(?:더\s*)?자세히\S*")


def stands_alone(question: str, names: Names) -> bool:
    """Whether a question says all that it asks for.

    Args:
        question: As it was asked.
        names: The names in a text, as `silmari.language.analysis.Analyser.names` gives them.
    """
    return _kind(question, names) is None


def carried_over(question: str, turns: Sequence[Turn], names: Names) -> str:
    """The question with what it leaves out taken from earlier turns; as it is when it stands alone.

    Args:
        question: As it was asked.
        turns: Earlier ``(question, answer)`` pairs, oldest first; their questions may be follow-ups too.
        names: See `stands_alone`.
    """
    told: list[Turn] = []
    for asked, answer in turns:
        told.append((_one(asked, told, names), _MARKS.sub("", answer)))
    return _one(question, told, names)


def _one(question: str, told: Sequence[Turn], names: Names) -> str:
    kind = _kind(question, names)
    if kind is None or not told:
        return question
    body = _body(question)
    korean = language_of(question) == "ko"
    if kind == "year":
        return _shifted(body, told, names, korean)
    if kind == "pointer":
        return _pointed(body, told, names, korean)
    if kind == "fragment":
        return _completed(body, told, names, korean)
    last = told[-1][0]
    name = _meant(told, names)
    if not korean or (_BARE_KO.match(body) and len(body.split()) < 2) or name is None:
        return f"{last} {body}"
    return f"{name} {body}"


def _kind(question: str, names: Names) -> str | None:
    """What a question leans on earlier turns with; None for nothing."""
    body = _body(question)
    if not any(char.isalnum() for char in body):
        return None
    opened = len(body) < len(question.strip())
    own = _own(body, names)
    if _AFTER.search(body) or _BEFORE.search(body):
        return "year"
    if _pointer(body, own) is not None:
        return "pointer"
    if language_of(question) == "ko":
        words = body.rstrip("?？!. ").split()
        times = [word for word in words if _YEAR.search(word)]
        if len(words) - len(times) <= (3 if opened else 1) and _TOPIC.search(body):
            return None if len(own) > 1 and not opened else "fragment"
        if opened and len(words) == 1 and not _BARE_KO.match(body):
            return "fragment"
        bare = _BARE_KO.match(body) or (
            not times and all(_TRAIT.fullmatch(word) for name in own for word in name.split())
        )
        plain = len(words) <= 4 and not re.search(r"[A-Za-z0-9]", body)
        return "bare" if bare and (plain or opened) else None
    if _WHAT_ABOUT.match(body):
        return "fragment"
    words = re.findall(r"[\w'’-]+", body)
    if all(word.lower() in _BARE_EN for word in words) and len(words) <= 4:
        return "bare"
    return "fragment" if opened and len(words) <= 5 and not _SENTENCE_EN.search(body) else None


def _body(question: str) -> str:
    text = " ".join(question.split())
    return _OPENER.sub("", text) or text


def _pointer(body: str, own: Sequence[str]) -> re.Match[str] | None:
    """The pronoun that points to an earlier turn, not to a name before it in the same question."""
    for pattern in (_POINTS_KO, _POINTS_EN):
        for found in pattern.finditer(body):
            before = body[: found.start()]
            if pattern is _POINTS_EN and (any(name in before for name in own) or found[0] == "IT"):
                continue
            if pattern is _POINTS_EN and found[0].lower() == "it" and _EMPTY_IT.search(body):
                continue
            if pattern is _POINTS_KO and re.search(r"(?:와|과|하고|및)\s*$", before):
                continue
            return found
    return None


def _own(text: str, names: Names) -> list[str]:
    """The names that a text holds, without words that name nothing."""
    found: list[str] = []
    for name in names(text):
        # MX-300의: particles after Latin letters and figures are not of the name.
        bare = re.sub(r"(?<=[A-Za-z0-9])[가-힣]{1,3}$", "", name).strip()
        if not bare or _IDLE.match(bare) or re.fullmatch(r"[\d\s년월일]+", bare) or bare not in text:
            continue
        if not any(bare in other for other in found):
            found.append(bare)
    return found


def _meant(told: Sequence[Turn], names: Names, pointer: str = "", head: str | None = None) -> str | None:
    """The name that a pointer means: what the last question asked for, else what it was about."""
    for question, answer in reversed(told):
        asked, said = _own(question, names), _own(answer, names)
        fresh = [name for name in said if not any(name in one or one in name for one in asked)]
        which = _WHICH.search(question)
        # "Who is Ada Lovelace?" tells whom it asks about.
        sought = not _WHO_IS.search(question) and (
            (_OF_PEOPLE.search(pointer) and _WHO.search(question))
            or (_OF_PLACES.search(pointer) and _WHERE.search(question))
            or (head is not None and which is not None and which["head"].startswith(head))
        )
        ordered = [*fresh, *asked] if sought else [*asked, *fresh]
        for name in ordered:
            if not _TRAIT.search(name):
                return name
    return next((name for question, _ in reversed(told) for name in _own(question, names)), None)


def _shifted(body: str, told: Sequence[Turn], names: Names, korean: bool) -> str:
    """``그 다음 해``: the year after that of the last turn."""
    later = _AFTER.search(body)
    phrase = later or _BEFORE.search(body)
    assert phrase is not None
    known = [year for question, answer in reversed(told) for text in (question, answer) for year in _YEAR.findall(text)]
    if not known:
        return f"{told[-1][0]} {body}"
    year = str(int(known[0]) + (1 if later else -1))
    rest = (body[: phrase.start()] + body[phrase.end() :]).strip(" ?？.!")
    rest = re.sub(r"^(?:what|how)\s+about\s*|^in\s*$", "", rest, flags=re.I)
    if not rest or (korean and _JOSA.fullmatch(rest)):
        return _of_year(told[-1][0], year, korean)
    shown = f"{year}년" if korean else f"in {year}"
    whole = body[: phrase.start()] + shown + body[phrase.end() :]
    if _own(whole, names) and any(not _TRAIT.search(name) for name in _own(whole, names)):
        return whole
    if (found := _pointer(whole, ())) is not None:
        return _pointed(whole, told, names, korean) if found else whole
    name = _meant(told, names)
    if name is None:
        return whole
    return f"{name} {whole}" if korean else f"{whole.rstrip('?. ')} ({name})?"


def _of_year(question: str, year: str, korean: bool) -> str:
    """A question, asked of another year."""
    if _YEAR.search(question):
        return _YEAR.sub(year, question)
    return f"{year}년 {question}" if korean else f"{question.rstrip('?. ')} in {year}?"


def _pointed(body: str, told: Sequence[Turn], names: Names, korean: bool) -> str:
    """A pronoun replaced by what it means."""
    found = _pointer(body, _own(body, names))
    if found is None:
        return body
    head = found["head"]
    name = _meant(told, names, found[0], head)
    if name is None:
        return f"{told[-1][0]} {body}"
    before, after = body[: found.start()], body[found.end() :]
    if found.re is _POINTS_KO:
        if found[0] in _SHORT_KO:
            after = _SHORT_KO[found[0]] + after
        return before + name + _agreeing(name, after)
    if found["whose"]:
        return f"{before}{name}'s{after}"
    return f"{before}{'in ' if found['there'] else ''}{name}{after}"


def _completed(body: str, told: Sequence[Turn], names: Names, korean: bool) -> str:
    """``부산은?``, ``What about Busan?``: the last question, asked of something else."""
    last = told[-1][0]
    if korean:
        what = _JOSA.sub("", body.rstrip("?？!. ")).strip()
    else:
        match = _WHAT_ABOUT.match(body) or _AND_WHAT.match(body)
        what = match["what"] if match else body.rstrip("?. ")
    year = _YEAR.search(what)
    if year and not re.sub(r"년도?|\s", "", what.replace(year[0], "")):
        return _of_year(last, year[0], korean)
    asked = _own(last, names)
    traits = [name for name in asked if _TRAIT.search(name)]
    things = [name for name in asked if name not in traits]
    if korean and not _TRAIT.search(what):
        return _swapped(last, things[0], what) if things else f"{what} {last}"
    if korean:
        name = _meant(told, names)
        if traits:
            # 몇 명 does not ask for an area: what stands after is left out.
            return last.partition(traits[-1])[0] + body
        return f"{name}의 {body}" if name else f"{last} {body}"
    if things and (what[:1].isupper() or any(char.isdigit() for char in what)):
        return _swapped(last, things[-1], what)
    name = _meant(told, names)
    if name is None:
        return f"{last} {body}"
    when = _YEAR.search(last)
    of = name + (f" in {when[0]}" if when else "")
    about = body if _WHAT_ABOUT.match(body) else f"what about {what}?"
    return f"{about.rstrip('?. ')} of {of}?"


def _swapped(question: str, old: str, new: str) -> str:
    before, _, after = question.partition(old)
    return before + new + _agreeing(new, after)


def _agreeing(name: str, after: str) -> str:
    """What follows a name, its particle in the form that the name's last sound asks for."""
    last = _DIGITS.get(name[-1], name[-1])
    if not "가" <= last <= "힣":
        return after
    final = (ord(last) - ord("가")) % 28
    for closed, opened in _ALTERNATING:
        for form in (closed, opened):
            if re.match(rf"{form}(?=\s|\?|요|$)", after):
                # 으로 stays off after a final ㄹ.
                wanted = opened if not final or (closed == "으로" and final == 8) else closed
                return wanted + after[len(form) :]
    return after
