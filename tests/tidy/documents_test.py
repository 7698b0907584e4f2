"""Every reference of the documents resolves: paths, links, headings, and the pages that comments name.

Plain Python, no network, no build. It prints each reference that does not resolve as `file:line: sentence` and fails if there is
one. By hand: `python3 -m unittest -v documents_test` in this directory.
"""
import fnmatch
import functools
import glob
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What lies at the top of the repository and may begin a path in running text.
TOP = ("api", "backends", "clients", "db", "docs", "examples", "schedd", "scripts", "tests")
# Where an #include or a short path of a document may begin, beside the document's own directory.
INCLUDE_ROOTS = ("", "schedd")
# The endings by which a word with a slash is a file and not an API group or a label.
FILE_ENDINGS = ("h", "cc", "py", "go", "sh", "cmake", "md", "yaml", "yml", "json", "sql", "proto", "txt", "swf", "service", "mod")
# A name without a directory is looked for in the whole tree if it ends so.
SOURCE_ENDINGS = ("h", "cc", "py", "go", "sh", "cmake", "md", "proto", "sql")
COMMENT = {".h": "//", ".cc": "//", ".go": "//", ".proto": "//", ".sql": "--", ".py": "#", ".sh": "#", ".cmake": "#", ".txt": "#",
           ".yaml": "#", ".yml": "#"}

# (document or "*", reference): why it need not resolve.
EXCEPTIONS = {
}


@functools.lru_cache(maxsize=None)
def files():
    """Paths of all files of the repository, relative to its root; what a build or an editor leaves is no part of it."""
    out = []
    for directory, below, names in os.walk(ROOT):
        top = directory == ROOT
        below[:] = [one for one in below
                    if one not in ("__pycache__", "node_modules") and not (top and (one == ".git" or re.match(r"build", one)))]
        out += [os.path.relpath(os.path.join(directory, name), ROOT) for name in names]
    return sorted(out)


@functools.lru_cache(maxsize=None)
def base_names():
    return sorted({os.path.basename(path) for path in files()})


@functools.lru_cache(maxsize=None)
def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def documents():
    return [path for path in files() if path.endswith(".md")]


def sources():
    return [path for path in files() if os.path.splitext(path)[1] in COMMENT]


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def without_blocks(text):
    """The text with fenced code blocks blanked; offsets and lines stay."""
    return re.sub(r"(?ms)^(```|~~~).*?^\1[^\n]*", lambda block: re.sub(r"[^\n]", " ", block.group()), text)


def without_code(text):
    """The text with code spans blanked as well: no link or heading begins in one."""
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", lambda span: re.sub(r"[^\n]", " ", span.group()), without_blocks(text), flags=re.S)


def spans(text):
    """Code spans outside of blocks, as (offset, what stands in them)."""
    return [(each.start(1), each.group(1)) for each in re.finditer(r"(?<!`)`([^`\n]+)`(?!`)", without_blocks(text))]


def slug(heading):
    """The anchor of a heading as GitHub makes it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


@functools.lru_cache(maxsize=None)
def headings(path):
    return [each.group(1).strip() for each in re.finditer(r"(?m)^#{1,6}\s+(.*?)\s*#*$", without_blocks(read(path)))]


def anchors(path):
    seen, out = {}, set()
    for one in map(slug, headings(path)):
        out.add(one if one not in seen else f"{one}-{seen[one]}")
        seen[one] = seen.get(one, 0) + 1
    return out


def titles(path):
    """What a comment may quote of a page: its headings and the bold words that begin a paragraph."""
    bold = re.findall(r"(?m)^(?:- )?\*\*(.+?)\*\*", read(path))
    return [one.replace("`", "").rstrip(".:") for one in headings(path) + bold]


def exists(path, module=False):
    """`path` is relative to the root and may have wildcards. A module is named without the endings of its files."""
    path = os.path.normpath(path)
    if path.startswith(".."):
        return False
    for pattern in [path] + ([path + ".*"] if module else []):
        if glob.glob(os.path.join(ROOT, pattern)):
            return True
    return False


def resolves(document, path, module=False):
    here = os.path.dirname(document)
    return any(exists(os.path.join(base, path), module) for base in (here, *INCLUDE_ROOTS))


def is_file(word):
    return re.fullmatch(r"[\w.*-]+(/[\w.*-]+)+", word) is not None and (
        word.rsplit(".", 1)[-1] in FILE_ENDINGS or word.endswith(".*")) and not is_placeholder(word)


def is_placeholder(word):
    """DATA_DIR/members.d: its first part stands for something of the reader's."""
    return re.fullmatch(r"[A-Z_]{2,}", word.split("/")[0]) is not None


def is_directory(word):
    return re.fullmatch(r"[\w.*-]+(/[\w.*-]+)*/", word) is not None and not is_placeholder(word)


def is_excepted(document, reference):
    return (document, reference) in EXCEPTIONS or ("*", reference) in EXCEPTIONS


def problems_of_links(document):
    text = read(document)
    for link in re.finditer(r"\[[^\]\n]*\]\(([^)\s]+)\)", without_code(text)):
        target, _, anchor = link.group(1).partition("#")
        if re.match(r"[a-z]+:", target) or is_excepted(document, link.group(1)):
            continue
        page = os.path.normpath(os.path.join(os.path.dirname(document), target)) if target else document
        if not exists(page):
            yield line_of(text, link.start()), f"the link leads to {target}, which is not there"
        elif anchor and page.endswith(".md") and anchor not in anchors(page):
            yield line_of(text, link.start()), f"the link leads to #{anchor}, and {page} has no such heading"


def problems_of_paths(document):
    text = read(document)
    told = set()
    for at, span in spans(text):
        for word in span.split():
            if is_excepted(document, word):
                continue
            wrong = None
            if is_file(word) or is_directory(word):
                wrong = not resolves(document, word)
            elif re.fullmatch(r"[\w*-]+\.(?:%s)" % "|".join(SOURCE_ENDINGS), word):
                wrong = not fnmatch.filter(base_names(), word)
            elif re.fullmatch(r"[\w-]+(/[\w*-]+)+", word) and any(
                    os.path.isdir(os.path.join(ROOT, base, word.split("/")[0])) for base in INCLUDE_ROOTS):
                wrong = not resolves(document, word, module=True)
            if wrong:
                told.add((line_of(text, at), word))
                yield line_of(text, at), f"`{word}` is not there"
    # In running text and in blocks too: whatever begins with a directory of the top.
    for path in re.finditer(r"(?<![\w/.$~}<-])(?:%s)/[\w.*/-]*[\w*/]" % "|".join(TOP), text):
        word, line = path.group(), line_of(text, path.start())
        if (line, word) not in told and not is_excepted(document, word) and not resolves(document, word, module=True):
            yield line, f"{word} is not there"


def comments(source):
    """Comments of a source as (line of each character, text): neighbouring comment lines are one text."""
    ending = os.path.splitext(source)[1]
    mark = COMMENT[ending]
    block, lines, last = "", [], 0
    docstring = False
    for number, line in enumerate(read(source).splitlines(), 1):
        said = None
        if ending == ".py" and (docstring or re.match(r'\s*[rf]?"""', line)):
            docstring ^= line.count('"""') % 2 == 1
            said = line.strip()
        elif (begin := re.search(r"(?:^|\s)%s/?!?<?(.*)$" % re.escape(mark), line)) is not None:
            said = begin.group(1).strip()
        if said is None:
            continue
        if block and number != last + 1:
            yield lines, block
            block, lines = "", []
        block += said + " "
        lines += [number] * (len(said) + 1)
        last = number
    if block:
        yield lines, block


def pages(source, name):
    """The documents that a comment in `source` may mean by this name."""
    directory, found = os.path.dirname(source), []
    if "/" in name:
        candidates = [os.path.join(base, name) for base in (directory, *INCLUDE_ROOTS, "docs")]
    else:
        candidates, up = [], directory
        while True:
            candidates.append(os.path.join(up, name))
            if not up:
                break
            up = os.path.dirname(up)
        candidates += [os.path.join("docs", below, name) for below in ("", "guide", "rules")]
    for path in candidates:
        path = os.path.normpath(path)
        if os.path.isfile(os.path.join(ROOT, path)) and path not in found:
            found.append(path)
    return found


@functools.lru_cache(maxsize=None)
def rules():
    """Rule ids that head a section of docs/rules: "A12" of "### A12. Borrowing"."""
    out = set()
    for page in documents():
        if page.startswith("docs/rules/"):
            out |= {one.group(1) for one in map(re.compile(r"([A-Z]{1,3}\d+[a-z]?)\b").match, headings(page)) if one}
    return out


RULE = r"[A-Z]{1,3}\d+[a-z]?\b"
PAGE = re.compile(r"(?<![\w/.-])((?:\.\./)*[\w-][\w./-]*\.md)\b(?:,? ((?:%s)(?:(?:, | and | to )%s)*)|,? \"([^\"]+)\"(?=[,.;:) ]))?" %
                  (RULE, RULE))


def problems_of_comments(source):
    for lines, text in comments(source):
        for one in PAGE.finditer(text):
            name, ids, title = one.groups()
            if is_excepted(source, name):
                continue
            line, found = lines[one.start()], pages(source, name)
            if not found:
                yield line, f"{name} is named, and there is no such page"
                continue
            for rule in re.findall(RULE, ids or ""):
                if rule not in rules():
                    yield line, f"{name} {rule} is named, and no heading of docs/rules begins with {rule}"
            if title and not any(each.startswith(title) for page in found for each in titles(page)):
                yield line, f'{name} is said to have "{title}", and has no such heading'


class Documents(unittest.TestCase):
    def judge(self, paths, problems):
        found = [f"{path}:{line}: {sentence}" for path in paths for line, sentence in problems(path)]
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_every_link_leads_somewhere(self):
        self.judge(documents(), problems_of_links)

    def test_every_path_that_a_document_names_is_there(self):
        self.judge(documents(), problems_of_paths)

    def test_every_page_that_a_comment_names_is_there(self):
        self.judge(sources(), problems_of_comments)

    def test_every_exception_is_still_needed(self):
        for (document, reference), reason in EXCEPTIONS.items():
            where = documents() + sources() if document == "*" else [document]
            self.assertTrue(any(reference in read(path) for path in where), f"{document}: {reference} ({reason})")

    def test_a_heading_has_the_anchor_that_github_gives_it(self):
        for heading, anchor in [("Two commands", "two-commands"), ("`muster explain`: why", "muster-explain-why"),
                                ("What is promised?", "what-is-promised"), ("A_b - c", "a_b---c")]:
            self.assertEqual(slug(heading), anchor)

    def test_a_comment_that_goes_over_several_lines_is_read_as_one(self):
        self.assertEqual(PAGE.search('see README.md, "Exec plugins", has it').groups(), ("README.md", None, "Exec plugins"))
        self.assertEqual(PAGE.search("as rules.md A12, A13 and B2 say").groups(), ("rules.md", "A12, A13 and B2", None))
        self.assertEqual(PAGE.search("(../README.md).").groups(), ("../README.md", None, None))


if __name__ == "__main__":
    unittest.main()
