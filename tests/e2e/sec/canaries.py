"""Secrets that a test plants, and the places where they must not come up again."""
import base64
import os
import secrets


class Canaries:
    """Random texts by name; each is looked for as it is, in hexadecimal digits, percent-encoded and inside of base64."""

    def __init__(self):
        self.texts, self.hits, self.bytes_searched = {}, [], 0

    def new(self, name):
        # Letters and digits, so that no quoting can hide it.
        return self.know(name, "canary" + secrets.token_hex(12))

    def know(self, name, text):
        """A secret that somebody else has made."""
        self.texts[name] = text
        return text

    def forms(self, name):
        """The same bytes as they may be written. In base64 they look differently at each of three offsets, but for both ends."""
        raw = self.texts[name].encode()
        forms = {raw, raw.hex().encode(), raw[::-1]}
        for offset in range(3):
            inside = base64.b64encode(b"\0" * offset + raw)[4 if offset else 0:]
            forms.add(inside[:len(inside) - 4])
        return {form for form in forms if len(form) >= 16}

    def search(self, where, data):
        """Notes each canary that these bytes (or this text) have, with the place's name."""
        raw = data if isinstance(data, bytes) else str(data).encode()
        self.bytes_searched += len(raw)
        lower = raw.lower()
        for name in self.texts:
            if any(form in raw or form in lower for form in self.forms(name)):
                self.hits.append((name, where))

    def search_tree(self, top, leave_out=lambda path: False):
        """All files below `top`; returns their number. Files that go while they are read had no name any more."""
        files = 0
        for directory, inner, names in os.walk(top):
            inner[:] = [name for name in inner if not leave_out(os.path.join(directory, name))]
            for name in names:
                path = os.path.join(directory, name)
                if leave_out(path) or os.path.islink(path) or not os.path.isfile(path):
                    continue
                try:
                    with open(path, "rb") as file:
                        self.search(path, file.read())
                    files += 1
                except FileNotFoundError:
                    pass
        return files


def tree_of(pid, place):
    """The process, all whose command line names `place`, and all their descendants."""
    parents, found = {}, {pid}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
                with open(f"/proc/{entry}/cmdline", encoding="utf-8", errors="replace") as file:
                    if place in file.read():
                        found.add(int(entry))
            except OSError:
                pass
    grown = True
    while grown:
        more = {child for child, parent in parents.items() if parent in found} - found
        grown = bool(more)
        found |= more
    return found
