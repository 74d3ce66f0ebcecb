"""The text of a web page: decode its bytes, and remove the markup of HTML."""

import codecs
import re
from html.parser import HTMLParser

CHARSETS = {
    "ascii": "cp1252", "euc-kr": "cp949", "gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252",
    "iso-8859-9": "cp1254", "iso8859-1": "cp1252", "ks_c_5601-1987": "cp949", "latin1": "cp1252",
    "shift_jis": "cp932", "sjis": "cp932", "us-ascii": "cp1252", "windows-31j": "cp932", "x-gbk": "gb18030",
    "x-sjis": "cp932",
}  # fmt: skip
"""The encodings that browsers use for these names (WHATWG Encoding), where Python's have fewer characters."""


def decode(data, charset, more):
    """Return the text, in the charset of its byte order mark, its type or its head, or else in UTF-8 or Windows-1252.

    ``more`` says that the data is cut.
    """
    for mark, marked in ((codecs.BOM_UTF8, "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            return data[len(mark) :].decode(marked, "replace")
    charset = charset or _declared(data)
    try:
        if charset:
            return data.decode(CHARSETS.get(charset, charset), "replace")
    except (LookupError, UnicodeError):
        pass  # an unknown charset
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data, not more)
    others = len(data) - len(data.translate(None, bytes(range(128, 256))))
    return data.decode("cp1252", "replace") if text.count("\ufffd") * 4 > others else text


def _declared(data):
    """Return the charset that a page names in its head, or XML in its first line."""
    found = re.search(
        rb"""(?:<meta\b[^>]*?\bcharset|^\s*<\?xml\b[^>]*?\bencoding)\s*=\s*["']?\s*([\w.:-]+)""",
        data[:4096],
        re.IGNORECASE,
    )
    name = found[1].decode("ascii", "replace").lower() if found else ""
    # The name was found as ASCII, so the page cannot be UTF-16.
    return "utf-8" if name.startswith("utf-16") else name


def page_of(text):
    """Parse a page of HTML."""
    page = Page()
    # For a comment without an end, the parser would search for the end again from each start.
    page.feed(re.sub(r"<!--(?:-?>|.*?(?:-->|\Z))", "", text, flags=re.DOTALL))
    page.close()
    return page


class Page(HTMLParser):
    """The text of a page: one line per block, lists with marks, and the cells of a row on one line."""

    SILENT = frozenset(
        {
            "audio", "canvas", "datalist", "head", "iframe", "math", "noscript", "object", "script", "select",
            "style", "svg", "template", "video",
        }
    )  # fmt: skip
    BLOCKS = frozenset(
        {
            "address", "article", "aside", "blockquote", "body", "caption", "details", "div", "dl", "fieldset",
            "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html",
            "main", "nav", "ol", "p", "pre", "section", "summary", "table", "ul",
        }
    )  # fmt: skip
    LINES = frozenset({"br", "dd", "dt", "li", "option", "tbody", "tfoot", "thead", "tr"})
    VOID = frozenset({"br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
    UNCLOSED = frozenset({"dd", "dt", "li", "option", "p", "td", "th", "tr"})
    """Elements that need no end tag: the next one, or the end of their parent, ends them."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self._lines = []
        self._line = []
        self._is_bare = True
        self._ends_in_space = False
        self._title = []
        self._silent = []
        self._lists = []
        self._in_title = False
        self._pre = 0

    def handle_starttag(self, tag, attrs):
        if self._silent and self._silent[-1] in self.UNCLOSED and (tag == self._silent[-1] or tag in self.BLOCKS):
            self._silent.pop()
        if tag == "title" and self._silent in ([], ["head"]):
            self._in_title = not self._title
        elif tag == "body":
            self._silent.clear()
        elif self._silent:
            if tag == self._silent[-1]:
                self._silent.append(tag)
        elif tag not in self.VOID and (tag in self.SILENT or _is_hidden(dict(attrs))):
            self._silent.append(tag)
            if tag in self.BLOCKS:
                self._end_line(blank=True)
        else:
            self._begin(tag, dict(attrs))

    def handle_endtag(self, tag):
        if tag == "title":
            self._in_title = False
        if self._silent and self._silent[-1] in self.UNCLOSED and tag != self._silent[-1] and tag in self.BLOCKS:
            self._silent.pop()
        if tag == "head":
            self._silent.clear()
        elif self._silent:
            if tag in self._silent:
                del self._silent[len(self._silent) - 1 - self._silent[::-1].index(tag) :]
        else:
            self._end(tag)

    def handle_data(self, data):
        if self._in_title:
            self._title.append(data)
        elif self._silent:
            return
        elif self._pre:
            first, *more = data.split("\n")
            self._say(first)
            for line in more:
                self._end_line(keep=True)
                self._say(line)
        else:
            words = re.sub(r"\s+", " ", data)
            self._say(words.lstrip() if self._is_bare or self._ends_in_space else words)

    def title(self):
        return " ".join("".join(self._title).split())

    def text(self):
        self._end_line()
        return "\n".join(self._lines).strip("\n")

    def _begin(self, tag, attrs):
        if tag in ("ul", "ol") and self._lists:
            self._end_line()
        elif tag in self.BLOCKS or tag in self.LINES:
            self._end_line(blank=tag in self.BLOCKS and not self._lists)
        if tag in ("ul", "ol"):
            self._lists.append(0 if tag == "ol" else None)
        elif tag == "li":
            self._mark()
        elif tag in ("td", "th") and not self._is_bare:
            self._say(" | ")
        elif tag == "img" and (attrs.get("alt") or "").strip():
            self.handle_data(f"[{attrs['alt'].strip()}]")
        elif tag == "pre":
            self._pre += 1

    def _end(self, tag):
        if tag == "pre" and self._pre:
            self._pre -= 1
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        if tag in ("ul", "ol") and self._lists:
            self._end_line()
        elif tag in self.BLOCKS or tag in self.LINES:
            self._end_line(blank=tag in self.BLOCKS and not self._lists)

    def _mark(self):
        """Add the mark of a list item, instead of that of an item without text."""
        self._line.clear()
        mark = "- "
        if self._lists and self._lists[-1] is not None:
            self._lists[-1] += 1
            mark = f"{self._lists[-1]}. "
        self._line.append("  " * (len(self._lists) - 1) + mark)

    def _say(self, words):
        if words:
            self._line.append(words)
            self._is_bare = False
            self._ends_in_space = words[-1] == " "

    def _end_line(self, *, blank=False, keep=False):
        """End the line, if it has text; ``keep`` is for preformatted lines, which may be empty."""
        if not self._is_bare or keep:
            self._lines.append("".join(self._line).rstrip())
            self._line.clear()
            self._is_bare, self._ends_in_space = True, False
        if blank and self._lines and self._lines[-1] and not self._line:
            self._lines.append("")


def _is_hidden(attrs):
    style = re.sub(r"\s", "", attrs.get("style") or "").lower()
    return "hidden" in attrs or "display:none" in style or "visibility:hidden" in style
