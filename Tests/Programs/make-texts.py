"""Writes documents of many types into the working directory, each with a word of its own in its text: word-TYPE."""
import base64
import zipfile


def package(name, entries):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in entries.items():
            archive.writestr(path, content)


def pdf(name, text):
    content = b"BT /F1 12 Tf 20 50 Td (%s) Tj ET" % text.encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 100]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content), b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Title (wordpdftitle)>>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj%s endobj\n" % (number, body)
    table = len(data)
    data += b"xref\n0 7\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"trailer<</Size 7/Root 1 0 R/Info 6 0 R>>\nstartxref\n%d\n%%%%EOF" % table
    with open(name, "wb") as file:
        file.write(data)


WORD = '<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>word</w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>docx</w:t></w:r></w:p><w:p><w:r><w:t>caf&#xe9;</w:t></w:r></w:p></w:body></w:document>'
package("letter.docx", {"[Content_Types].xml": "<Types/>", "word/document.xml": WORD, "word/styles.xml": "<a>wordstyle</a>", "docProps/core.xml": "<a><dc:creator>wordcreator</dc:creator></a>"})
package("letter.odt", {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<a><text:p>wordodt &amp; more<text:tab/>tabbed</text:p><text:h>next</text:h></a>"})
package("sheet.xlsx", {"xl/sharedStrings.xml": "<sst><si><t>wordxlsx</t></si><si><t>other</t></si></sst>"})
package("talk.pptx", {"ppt/slides/slide1.xml": "<p><a:p><a:t>wordpptx</a:t></a:p></p>", "ppt/slides/_rels/slide1.xml.rels": "<a>wordrels</a>"})
package("book.epub", {"mimetype": "application/epub+zip", "OEBPS/c1.xhtml": "<html><head><style>.wordstyle{}</style></head><body><p>wordepub</p></body></html>"})
package("parts.zip", {"inner/wordzip.txt": "not read"})
pdf("page.pdf", "wordpdf of a page")
with open("multi.eml", "wb") as file:
    file.write(
        b"From: =?utf-8?q?Ada_L=C3=B6vel?= <ada@example.org>\nSubject: =?utf-8?b?d29yZHN1YmplY3TDqQ==?=\nMIME-Version: 1.0\n"
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\n"
        b"wordlat=\nin =FCber\n--b\nContent-Type: text/html\nContent-Transfer-Encoding: base64\n\n"
        + base64.b64encode(b"<p class=wordhtmltag>word<b>multipart</b></p>")
        + b"\n--b\nContent-Type: text/plain\nContent-Disposition: attachment; filename=wordattached.txt\n\nwordinside\n--b--\n")
with open("box.mbox", "w") as file:
    for name in "one", "two":
        file.write(f"From ada@example.org Thu Jan  1 00:00:00 2026\nFrom: ada@example.org\nSubject: mail\n\nwordmbox{name}\n\n")
for name, text in {
    "note.txt": "wordtxt, Übung macht den Meister\n",
    "read.md": "# wordmd\n",
    "site.html": "<html><title>wordhtml</title><!-- wordcomment --><script>wordscript</script><body><p>one<br>two&nbsp;three</p></body></html>",
    "drawing.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text>wordsvg</text></svg>',
    "mail.eml": "From: ada@example.org\nSubject: wordeml\n\nBody\n",
    "program.c": "int wordc(void);\n",
    "notes.ja.txt": "全文検索エンジン\n",
    "empty.txt": "",
    "data.bin2": "\x00\x01wordbin",
    "broken.pdf": "%PDF-1.4 wordbroken",
    "broken.docx": "PK\x03\x04wordbroken",
}.items():
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
