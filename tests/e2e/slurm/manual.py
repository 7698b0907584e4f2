"""What the manual pages of Debian's slurm-client name: options, variables, letters and names of columns, verbs."""
import functools
import glob
import gzip
import os
import re
import subprocess

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "muster", "slurm-manual")


@functools.lru_cache(maxsize=None)
def page(command):
    """The roff text of the page; of the package, which is fetched once, where the machine has no manual pages."""
    name = f"usr/share/man/man1/{command}.1.gz"
    if not os.path.exists(f"/{name}") and not os.path.exists(f"{CACHE}/{name}"):
        os.makedirs(CACHE, exist_ok=True)
        subprocess.run(["apt-get", "download", "-qq", "slurm-client"], cwd=CACHE, check=True)
        subprocess.run(["dpkg-deb", "-x", glob.glob(f"{CACHE}/slurm-client_*.deb")[0], CACHE], check=True)
    with gzip.open(f"/{name}" if os.path.exists(f"/{name}") else f"{CACHE}/{name}", "rt", encoding="utf-8", errors="replace") as file:
        return file.read()


def plain(line):
    """Without the marks of roff."""
    return re.sub(r"\\f[BIRP1-4]", "", line).replace("\\-", "-").replace("\\'", "'").replace("\\&", "")


def tagged(command, begin, end=r"^\.SH"):
    """The tag lines (what follows .TP) of the section whose heading matches `begin`, as they are."""
    tags, inside, tag = [], False, False
    for line in page(command).splitlines():
        if not inside:
            inside = re.search(begin, line) is not None
        elif re.search(end, line):
            inside = False
        elif line.startswith(".TP"):
            tag = True
        elif tag and line:
            if not line.startswith("."):
                tags.append(line)
            tag = False
    return tags


def options(command):
    """[(short or "", long or "", whether it takes a value)], each once."""
    found = {}
    for tag in tagged(command, r'^\.SH "?OPTIONS'):
        text = plain(tag)
        if not text.startswith("-"):
            continue
        words = re.findall(r"(?<![\w=<\[-])--?[A-Za-z][\w-]*", re.sub(r"<[^>]*>", "<>", text))
        short = next((word for word in words if not word.startswith("--")), "")
        long = next((word for word in words if word.startswith("--")), "")
        optional = "[" in text and "=" in text.split("[", 1)[1][:2]
        value = ("=" in text or "<" in text) and not optional
        found.setdefault(long or short, (short, long, value))
    return list(found.values())


def variables(command):
    begin = r'^\.SH "?(INPUT )?ENVIRONMENT VARIABLES'
    return sorted({name for tag in tagged(command, begin) for name in re.findall(r"\b[A-Z][A-Z0-9_]{3,}\b", plain(tag).split("  ")[0])})


def letters(command):
    """The letters of --format."""
    tags = tagged(command, r"^\\fB\\-o\\fR, \\fB\\-\\-format", r"^\\fB\\-")
    return sorted({plain(tag)[1:] for tag in tags if re.fullmatch(r"%[A-Za-z]", plain(tag).strip())})


def names(command):
    """The names of --Format."""
    tags = tagged(command, r"^\\fB\\-O\\fR, \\fB\\-\\-Format", r"^\\fB\\-")
    return sorted({plain(tag).strip().rstrip(":") for tag in tags if re.fullmatch(r"[A-Za-z][A-Za-z_-]*:?", plain(tag).strip())} - {"size", "suffix", "sufix", "default"}, key=str.lower)


def verbs():
    """The verbs of scontrol."""
    found = []
    for tag in tagged("scontrol", r'^\.SH "COMMANDS"'):
        match = re.match(r"\\fB([a-z_]+)\\fR", tag)
        if match:
            found.append(match.group(1))
    entities = found[found.index("show") + 1:found.index("shutdown")]
    return [verb for verb in found if verb not in entities and verb not in ("help",)], [one for one in entities if one not in ("users", "accounts", "qos", "flags")]


if __name__ == "__main__":
    for one in "sbatch srun salloc scancel squeue sacct sinfo scontrol sacctmgr".split():
        print(one, len(options(one)), "options", len(variables(one)), "variables")
        print("  ", [o[1] or o[0] for o in options(one)])
        print("  ", variables(one))
    for one in ("squeue", "sinfo"):
        print(one, len(letters(one)), letters(one), len(names(one)), names(one))
    print(verbs())
