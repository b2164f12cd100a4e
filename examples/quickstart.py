"""Silmari in ten lines: python examples/quickstart.py."""

from silmari import KnowledgeBase
from silmari.examples import office

with KnowledgeBase.open("quickstart.silmari") as kb:
    kb.add(office())
    for hit in kb.search("취업규칙의 연차휴가", k=3):
        print(f"{hit.rank}. {hit.relevance:.2f}  {hit.source.title}  {dict(hit.source.locator)}")
    print(kb.ask("When will the Gangneung branch move?").text)
