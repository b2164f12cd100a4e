"""PDF files for tests, written by hand: Korean without a font file, and any text at any place."""

from __future__ import annotations

from collections.abc import Sequence

Words = tuple[float, float, str]


def korean_pdf(pages: Sequence[Sequence[Words]], *, size: int = 10, rules: Sequence[str] = (), info: str = "") -> bytes:
    """A file with one standard Korean font that is not embedded.

    Args:
        pages: For each page what stands where: x, y (upwards, in points) and text. Korean letters are one
            `size` wide, Latin letters, digits and blanks half of it.
        size: Of the letters.
        rules: Drawing operators that are put on every page.
        info: Entries of the Info dictionary.
    """
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type0 /BaseFont /HYSMyeongJo-Medium /Encoding /UniKS-UCS2-H"
        b" /DescendantFonts [4 0 R] >>",
        b"<< /Type /Font /Subtype /CIDFontType0 /BaseFont /HYSMyeongJo-Medium /DW 1000 /W [1 [500] 2 95 500]"
        b" /CIDSystemInfo << /Registry (Adobe) /Ordering (Korea1) /Supplement 1 >> /FontDescriptor 5 0 R >>",
        b"<< /Type /FontDescriptor /FontName /HYSMyeongJo-Medium /Flags 6 /FontBBox [0 -120 1000 880] /ItalicAngle 0"
        b" /Ascent 880 /Descent -120 /CapHeight 700 /StemV 80 >>",
        f"<< {info} >>".encode("latin-1"),
    ]
    kids = []
    for words in pages:
        drawn = "".join(
            f"BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm <{text.encode('utf-16-be').hex()}> Tj ET\n" for x, y, text in words
        )
        stream = ("\n".join(rules) + "\n" + drawn).encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%b] /Count %d >>" % (b" ".join(kids), len(kids))
    data = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"trailer\n<< /Size %d /Root 1 0 R /Info 6 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(data)
