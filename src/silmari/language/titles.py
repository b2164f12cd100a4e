"""Words that stand beside names without being of them: titles of persons, legal forms, kinds of things.

All are in the form of `silmari.language.normalise.normalise`.
"""

from __future__ import annotations

import re

# What a title says of its bearer; two bearers of one name in different fields may be two persons.
NEUTRAL = ""

_KOREAN = {
    NEUTRAL: "씨 님 선생 선생님 여사 옹 군 양 스님 대사 신부 수녀 목사 귀하 본인",
    "office": "사원 주임 대리 과장 차장 부장 팀장 실장 본부장 지부장 지점장 센터장 국장 소장 이사 상무 전무 부사장 "
    "사장 "
    "대표 대표이사 부회장 회장 이사장 매니저 책임 선임 수석 상무이사 전무이사 그룹장 파트장 반장 조장 공장장 점장 "
    "심사역 고문 감사 비서 인턴 간사 총무 사무국장 사무총장",
    "study": "박사 교수 부교수 조교수 명예교수 석좌교수 총장 학장 연구원 연구관 연구사 강사 조교 교사 교장 교감 "
    "석사 학자 교육장",
    "state": "대통령 총리 국무총리 장관 차관 의원 국회의원 시장 군수 구청장 도지사 지사 대사관 판사 검사 변호사 대법관 "
    "위원 위원장 서기관 사무관 주무관 경위 경감 형사 왕 여왕 황제 공주 왕자",
    "force": "장군 대장 중장 소장군 준장 대령 중령 소령 대위 중위 소위 상사 중사 하사 제독",
    "sea": "선장 기장 기관장 항해사 함장",
    "health": "의사 원장 간호사 약사 한의사 수의사",
    "art": "시인 작가 소설가 화가 배우 가수 감독 지휘자 작곡가 피아니스트 기자 아나운서 명창 장인 명인 조각가 건축가",
    "sport": "선수 코치 주장",
}
_LATIN = {
    NEUTRAL: "mr mrs ms mx miss madam madame monsieur herr frau señor señora don sir dame lord lady rev reverend fr",
    "study": "dr prof professor doctor dean",
    "state": "president senator governor mayor chancellor representative congressman congresswoman judge justice "
    "ambassador premier sen gov rep hon",
    "force": "general gen colonel col captain capt lieutenant lt sergeant sgt major maj admiral adm commander cmdr "
    "corporal private",
    "church": "pope cardinal archbishop bishop father sister brother",
    "throne": "king queen emperor empress prince princess tsar sultan duke duchess count countess baron",
}
KOREAN_TITLES = {word: field for field, words in _KOREAN.items() for word in words.split()}
LATIN_TITLES = {word: field for field, words in _LATIN.items() for word in words.split()}
# Of these, one word that follows is surely a person's name; "General Motors" and "Major League" are none.
SURE_LATIN_TITLES = frozenset(
    "mr mrs ms mx dr prof professor president senator governor chancellor sir captain colonel sergeant pope "
    "king queen emperor sen gov capt col".split()
)
# Titles that are hardly ever last names, as King and Pope are.
OFFICES = frozenset(
    "president minister senator governor mayor chancellor representative ambassador premier professor doctor general "
    "colonel captain lieutenant sergeant major admiral commander corporal emperor princess archbishop lady madam "
    "sir".split()
)
TITLE_FIELDS = tuple(dict.fromkeys([*_KOREAN, *_LATIN]))

LEGAL_FORMS = frozenset(
    "inc incorporated ltd limited co corp corporation company llc llp lp plc gmbh ag kg kgaa se sa nv bv spa srl "
    "oy ab as aps pty pte bhd kk fc afc cf".split()
)
KOREAN_LEGAL_FORMS = re.compile(
    r"^(?:주식회사|유한회사|합자회사|재단법인|사단법인|학교법인|의료법인|\((?:주|유|재|사|학|의|합)\))\s*"
    r"|\s*(?:주식회사|유한회사|\((?:주|유|재|사|학|의|합)\))$"
)
GENERATIONS = frozenset("jr sr junior senior ii iii iv".split())

# What a company's short name leaves off its end.
KOREAN_TRADES = frozenset(
    "그룹 홀딩스 지주 중공업 공업 산업 산업개발 개발 건설 엔지니어링 전자 전기 전선 반도체 디스플레이 에너지 "
    "에너지솔루션 솔루션 "
    "솔루션즈 화학 석유 석유화학 정유 제철 철강 금속 조선 해운 해양 항공 자동차 모터스 모빌리티 기계 정밀 로보틱스 "
    "오토메이션 "
    "물산 상사 무역 유통 통상 백화점 식품 제과 제약 바이오 바이오로직스 헬스케어 생명 생명보험 화재 손해보험 보험 "
    "증권 은행 "
    "카드 캐피탈 금융 금융지주 자산운용 저축은행 투자 투자증권 통신 텔레콤 시스템 시스템즈 데이터 소프트 소프트웨어 "
    "네트웍스 "
    "테크 테크놀로지 미디어 엔터테인먼트 게임즈 출판 출판사 인쇄 제지 섬유 방직 패션 물류 택배 운수 교통 호텔 "
    "리조트 관광 "
    "회계법인 법무법인 세무법인 컨설팅 소재 머티리얼즈 케미칼 코리아 전력 가스 철도 중기 농기계 제분 제당 음료 주류 "
    "맥주".split()
)
KOREAN_PLACES = ("특별자치도", "특별자치시", "특별시", "광역시", "시", "군", "구", "읍", "면", "도")
# Ways of clipping the kind of a school.
CLIPPED = (
    ("공업고등학교", "공고"),
    ("여자고등학교", "여고"),
    ("상업고등학교", "상고"),
    ("외국어고등학교", "외고"),
    ("과학고등학교", "과고"),
    ("고등학교", "고"),
    ("여자대학교", "여대"),
    ("대학교", "대"),
    ("초등학교", "초"),
    ("대학원", "대원"),
)
LATIN_TRADES = frozenset(
    "group holdings holding industries industry heavy electronics electric motor motors robotics energy solution "
    "solutions systems system technologies technology tech software chemical chemicals steel shipbuilding "
    "construction engineering bank insurance securities financial pharmaceuticals pharma airlines airways "
    "entertainment pictures records studios media communications telecom networks international enterprises "
    "partners foods brewing brewery stores trading logistics shipping automation materials data labs laboratories "
    "semiconductor semiconductors".split()
)
LATIN_PLACES = frozenset("city town village county province prefecture oblast region municipality township".split())

# How a trade is called in the other language, where the sound does not say it.
TRANSLATED = {
    "중공업": "heavy industries",
    "공업": "industries",
    "산업": "industries",
    "건설": "construction",
    "전자": "electronics",
    "전기": "electric",
    "반도체": "semiconductor",
    "화학": "chemical",
    "제철": "steel",
    "철강": "steel",
    "조선": "shipbuilding",
    "해운": "shipping",
    "항공": "airlines",
    "자동차": "motor",
    "기계": "machinery",
    "정밀": "precision",
    "식품": "foods",
    "제약": "pharmaceutical",
    "보험": "insurance",
    "생명": "life",
    "증권": "securities",
    "은행": "bank",
    "통신": "telecom",
    "물산": "trading",
    "물류": "logistics",
    "대학교": "university",
    "대학": "college",
    "고등학교": "high school",
    "도서관": "library",
    "박물관": "museum",
    "미술관": "museum of art",
    "과학관": "science museum",
    "병원": "hospital",
    "재단": "foundation",
    "연구소": "research institute",
    "연구원": "institute",
    "공사": "corporation",
    "협회": "association",
    "위원회": "commission",
    "신문": "newspaper",
    "출판사": "press",
    "공장": "plant",
    "공항": "airport",
    "대교": "bridge",
    "호텔": "hotel",
}

# Last words of what is no person, and first words of what is no person.
KINDS_OF_THINGS = frozenset(
    "river rivers lake lakes creek sea ocean bay gulf sound strait straits channel canal falls waterfall island "
    "islands isle isles peninsula cape coast beach shore mountain mountains mount mt peak hill hills ridge range "
    "valley canyon plain plains plateau desert forest woods park parks garden gardens grove glacier shelf cave "
    "state states county counties country city cities town township village borough district districts province "
    "territory territories region area republic kingdom empire union federation confederation colony dominion "
    "commonwealth emirate america africa asia europe oceania antarctica australia korea china japan india russia "
    "germany france italy spain england britain ireland scotland wales zealand guinea leone virginia carolina "
    "dakota jersey york hampshire mexico texas california columbia vegas angeles francisco kong "
    "church cathedral chapel abbey temple mosque monastery school schools college university academy institute "
    "library museum gallery theatre theater hall house houses building tower towers palace castle fort fortress "
    "center centre hotel tavern plaza square market mall store stadium arena station terminal airport airways port "
    "harbor harbour pier bridge road street avenue lane drive way highway route railway railroad line lines "
    "express metro tunnel dam reservoir farm farms mine cemetery hospital clinic prison court courthouse "
    "party movement league association society club team committee commission council congress parliament senate "
    "assembly cabinet ministry department bureau agency office secretariat service services authority board "
    "government administration army navy force forces corps guard police brigade regiment division fleet "
    "company corporation group industries bank fund foundation trust organization organisation network "
    "press times post journal magazine newspaper news review herald tribune gazette books dictionary encyclopedia "
    "wikipedia bible records studios pictures entertainment productions orchestra band choir "
    "war wars battle siege revolution rebellion campaign crisis war depression treaty pact agreement accord act "
    "law laws amendment constitution declaration rights order award awards prize medal cup trophy bowl games "
    "olympics olympiads championship championships tournament series season open final finals race marathon rally "
    "conference convention summit festival fair day days week month year years century age era period "
    "award show film movie album song songs novel book story play opera symphony dance dances "
    "language languages people peoples nation nations americans dynasty family house tribe culture religion "
    "theory theorem equation law principle method system systems project program programme plan mission survey "
    "observatory laboratory index award code standard project model engine machine computer software "
    "world earth sun moon star stars heart life love death man woman boy girl child baby queen monster "
    "hero fighter warrior warriors leader section branch unit part point place site land lands ground field fields "
    "north south east west island sector zone belt border wall gate bend crossing mound hollow "
    "airlines airport aircraft airships station vodka coffee wine beer tea "
    "cross church mission express lightning tycoon smart ice snow water fire light dark night "
    "protocol network internet channel radio television tv fm am championship federation commissioner "
    "united sunday monday tuesday wednesday thursday friday saturday christmas easter january february march april "
    "june july august september october november december gothic democratic republican conservatives liberals "
    "greens english french spanish latin greek arabic korean german russian italian dutch swedish turkish "
    "canada norway sweden finland denmark poland turkey israel egypt iran iraq pakistan brazil argentina chile peru "
    "cuba nigeria kenya vietnam thailand indonesia malaysia philippines taiwan mongolia ukraine greece portugal "
    "belgium netherlands switzerland austria hungary romania bulgaria serbia croatia georgia florida alabama alaska "
    "arizona arkansas colorado connecticut delaware hawaii idaho illinois indiana iowa kansas kentucky louisiana "
    "maine maryland massachusetts michigan minnesota mississippi missouri montana nebraska nevada ohio oklahoma "
    "oregon pennsylvania tennessee utah vermont wisconsin wyoming tanzania "
    "venezuela colombia bolivia ecuador paraguay uruguay guatemala honduras nicaragua panama haiti jamaica bahamas "
    "morocco algeria tunisia libya sudan ethiopia somalia uganda rwanda congo angola zambia zimbabwe namibia botswana "
    "madagascar ghana senegal mali niger cameroon gabon syria lebanon jordanian yemen oman qatar kuwait bahrain "
    "afghanistan uzbekistan kazakhstan kyrgyzstan nepal bhutan bangladesh myanmar burma laos cambodia singapore "
    "iceland luxembourg monaco malta cyprus albania slovenia slovakia czechia estonia latvia lithuania belarus "
    "moldova armenia azerbaijan samoa fiji tonga guam "
    "road rock stone pond well spring springs heights crossing township courthouse".split()
)
NO_GIVEN_NAMES = frozenset(
    "north south east west northern southern eastern western central upper lower new old great greater big little "
    "first second third fourth last national international royal imperial federal united democratic republican "
    "american british english french german chinese japanese korean russian indian roman greek european african "
    "asian catholic christian protestant orthodox holy sacred saint st mount mt lake fort port cape san santa los "
    "las el la le les black white red green blue golden silver world public free high grand super mega general "
    "major common social economic political military supreme main real sport sports home house air sea land "
    "early late modern ancient middle mid my your our his her the a an this that all no one two three four five "
    "university universidad université universität instituto college school state department ministry bank bay "
    "river".split()
)
