"""Every reference of the documents resolves: paths, links, headings, and the pages and rules that comments name.

A path between backquotes may begin at the document, at the root, at an include root, or in a directory that the same line names before
it; a file name without a directory is looked for in the whole tree. A page that a comment names is beside it, in a directory above it, in docs or in
docs/rules; `rule A12` is a heading of docs/rules.

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
    ("backends/local/README.md", "work/"): "a directory of a pod on the host, made at run time",
    ("backends/local/README.md", "log/"): "a directory of a pod on the host, made at run time",
    ("CONTRIBUTING.md", "db/migrations/NNNN_name.up.sql"): "NNNN_name stands for the next migration",
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
    if re.match(r"build(-\w+)?/", path):  # made by a build, which this test does not need
        return True
    for pattern in [path] + ([path + ".*"] if module else []):
        if glob.glob(os.path.join(ROOT, pattern)):
            return True
    return False


def resolves(document, path, module=False, beside=""):
    """`beside`: the line; a path may also begin in a directory that the same line names before it (tables do that)."""
    here = os.path.dirname(document)
    named = [os.path.join(base, word) for word in re.findall(r"`([\w./-]+)`", beside) for base in (here, "")
             if os.path.isdir(os.path.join(ROOT, base, word))]
    return any(exists(os.path.join(base, path), module) for base in (here, *INCLUDE_ROOTS, *named))


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


def our_text(document):
    """The text of a document. Rules name their public sources, which are files of other trees: those are blanked."""
    blank = lambda part: re.sub(r"[^\n]", " ", part.group())
    if not document.startswith("docs/rules/"):
        return read(document)
    return re.sub(r"(?s)\*\*Source\*\*.*?(?=\*\*Code\*\*|\n\n|\Z)", blank, read(document))


def problems_of_paths(document):
    text = our_text(document)
    told = set()
    for at, span in spans(text):
        beside = text[text.rfind("\n", 0, at) + 1:at]
        for word in span.split():
            if is_excepted(document, word):
                continue
            wrong = None
            if is_file(word) or is_directory(word):
                wrong = not resolves(document, word, beside=beside)
            elif re.fullmatch(r"[\w*-]+\.(?:%s)" % "|".join(SOURCE_ENDINGS), word):
                wrong = not fnmatch.filter(base_names(), word)
            elif re.fullmatch(r"[\w-]+(/[\w*-]+)+", word) and any(
                    os.path.isdir(os.path.join(ROOT, base, word.split("/")[0])) for base in INCLUDE_ROOTS):
                wrong = not resolves(document, word, True, beside)
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
        candidates += [os.path.join("docs", below, name) for below in ("", "rules")]
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
            out |= {one.group(1) for one in map(re.compile(r"([A-Z]\d+)\b").match, headings(page)) if one}
    return out


RULE = r"[A-Z]\d+\b"
PAGE = re.compile(r'(?<![\w/.-])((?:\.\./)*[\w-][\w./-]*\.md)\b(?:,? "([^"]+)"(?=[,.;:) ]))?')
CITED = re.compile(r"(?:\brules?|\.md) (%s(?:(?:, (?:and )?| and | to | or )%s)*)" % (RULE, RULE))


def problems_of_mentions(path, text):
    """Pages and rules that a text names: (offset, sentence)."""
    for one in PAGE.finditer(text):
        name, title = one.groups()
        if is_excepted(path, name):
            continue
        found = pages(path, name)
        if not found:
            yield one.start(), f"{name} is named, and there is no such page"
        elif title and not any(each.startswith(title) for page in found for each in titles(page)):
            yield one.start(), f'{name} is said to have "{title}", and has no such heading'
    for one in CITED.finditer(text):
        letters = {rule[0] for rule in rules()}
        for number, rule in enumerate(re.findall(RULE, one.group(1))):
            if number > 0 and rule[0] not in letters:
                continue  # a part of the rule before it: "rule D20, I1 and I7"
            if rule not in rules():
                yield one.start(), f"rule {rule} is cited, and no heading of docs/rules begins with {rule}"


def problems_of_comments(source):
    for lines, text in comments(source):
        for at, sentence in problems_of_mentions(source, text):
            yield lines[at], sentence


def problems_of_prose(document):
    text = without_code(our_text(document))  # code spans are paths: problems_of_paths looks at them
    for at, sentence in problems_of_mentions(document, text):
        yield line_of(text, at), sentence


class Documents(unittest.TestCase):
    def judge(self, paths, problems):
        found = [f"{path}:{line}: {sentence}" for path in paths for line, sentence in problems(path)]
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_every_link_leads_somewhere(self):
        self.judge(documents(), problems_of_links)

    def test_every_path_that_a_document_names_is_there(self):
        self.judge(documents(), problems_of_paths)

    def test_every_page_and_rule_that_a_comment_names_is_there(self):
        self.judge(sources(), problems_of_comments)

    def test_every_page_and_rule_that_a_document_names_is_there(self):
        self.judge(documents(), problems_of_prose)

    def test_every_exception_is_still_needed(self):
        for (document, reference), reason in EXCEPTIONS.items():
            where = documents() + sources() if document == "*" else [document]
            self.assertTrue(any(reference in read(path) for path in where), f"{document}: {reference} ({reason})")

    def test_a_heading_has_the_anchor_that_github_gives_it(self):
        for heading, anchor in [("Two commands", "two-commands"), ("`muster explain`: why", "muster-explain-why"),
                                ("What is promised?", "what-is-promised"), ("A_b - c", "a_b---c")]:
            self.assertEqual(slug(heading), anchor)

    def test_a_page_is_found_with_the_heading_that_is_quoted_of_it(self):
        self.assertEqual(PAGE.search('see README.md, "Exec plugins", has it').groups(), ("README.md", "Exec plugins"))
        self.assertEqual(PAGE.search("(../README.md).").groups(), ("../README.md", None))

    def test_a_citation_may_be_of_several_rules(self):
        for text, cited in [("as rule A12 says", "A12"), ("rules A12, A13 and B2 say", "A12, A13 and B2"),
                            ("(rules A12 to A14)", "A12 to A14"), ("rule A22, step e", "A22"), ("docs/rules/admission.md A3", "A3")]:
            self.assertEqual(CITED.search(text).group(1), cited)
        self.assertIsNone(CITED.search("the rule ABC1 or a rule of thumb"))


if __name__ == "__main__":
    unittest.main()
