"""clang's thread-safety analysis over the product: no access to what a mutex guards without the mutex.

Each library and program is parsed with the flags of its compile command (compile_commands.json of the build), but only those of its
sources that lock, or that name something which a header they see has annotated. What passed is not parsed again until the clang, the flags or
one of the files that were read changes: the state is in the build directory. `thread_safety/planted.cc` has accesses without the lock, and
each of them must be refused, so that a check that sees nothing fails.

Why clang 16: 14 refuses lambdas that capture a structured binding, which is C++20. Nothing is compiled; gcc builds Muster.
By hand, after a build: `MUSTER_BUILD=$PWD/../../build python3 -m unittest -v thread_safety_test` in this directory.
"""
import concurrent.futures
import functools
import glob
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MUSTER_BUILD", os.path.join(ROOT, "build"))
CLANG = os.environ.get("MUSTER_CLANG", "clang++-16")
STATE = os.path.join(BUILD, "thread_safety")
TOP = ("schedd", "api", "backends", "clients")
MUTEX_HEADER = "schedd/base/mutex.h"
ANNOTATIONS = "schedd/base/thread_annotations.h"
LOCKS = {"MutexLock", "MutexUnlock", "ReaderLock", "WriterLock", "RecursiveLock", "Mutex", "SharedMutex", "RecursiveMutex", "CondVar", "StoppableCondVar"}
PLANTED = os.path.join(ROOT, "tests/tidy/thread_safety/planted.cc")
# The warnings of gcc are gcc's; here only this analysis speaks, and each finding is an error.
ANALYSIS = ["-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Wthread-safety-beta", "-Werror", "-ferror-limit=0"]

# Mutexes that guard no member, and what they are for.
ALONE = {
    ("api/rest/http/pistache_listener.h", "handing_over_"): "a queue of Pistache",
    ("backends/simulated/simulated_backend.cc", "delivery"): "the order of reports, and Stop waits for one under way",
    ("clients/cli/logs.cc", "output"): "standard output",
    ("clients/cli/logs.cc", "output_"): "standard output",
    ("backends/launcher/launcher_backend.cc", ""): "",
}


@functools.lru_cache(maxsize=None)
def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def product():
    """Every source and header of the product, relative to the root."""
    return sorted(os.path.relpath(path, ROOT) for top in TOP for ending in ("h", "cc")
                  for path in glob.glob(os.path.join(ROOT, top, "**", "*." + ending), recursive=True))


@functools.lru_cache(maxsize=None)
def includes(path):
    return [one for one in re.findall(r'(?m)^#include "([^"]+)"', read(path)) if os.path.exists(os.path.join(ROOT, one))]


@functools.lru_cache(maxsize=None)
def reach(path):
    """The file and every file of ours that it includes, directly or not."""
    seen, open_ends = {path}, [path]
    while open_ends:
        for one in includes(open_ends.pop()):
            if one not in seen:
                seen.add(one)
                open_ends.append(one)
    return seen


@functools.lru_cache(maxsize=None)
def code(path):
    return re.sub(r"//[^\n]*", "", read(path))


@functools.lru_cache(maxsize=None)
def words(path):
    return set(re.findall(r"\w+", code(path)))


@functools.lru_cache(maxsize=None)
def annotated(path):
    """What a file declares with annotations: guarded members, and functions whose caller holds a mutex."""
    if path in (MUTEX_HEADER, ANNOTATIONS):
        return set()
    return set(re.findall(r"(\w+)\s+MUSTER_(?:PT_)?GUARDED_BY", code(path))) | set(
        re.findall(r"(\w+)\([^;{}]*\)(?:\s+const)?(?:\s+override)?\s+MUSTER_REQUIRES", code(path)))


def is_concerned(source):
    """Whoever does something wrong names something annotated that it sees, or locks."""
    return bool(words(source) & (LOCKS | set().union(*map(annotated, reach(source)))))


@functools.lru_cache(maxsize=None)
def concerned():
    """The sources to judge: those that are concerned, and one for each header with locks of its own that none of them sees."""
    sources = [one for one in product() if one.endswith(".cc")]
    out = {one for one in sources if is_concerned(one)}
    for header in (one for one in product() if one.endswith(".h") and (annotated(one) or words(one) & LOCKS)):
        if not any(header in reach(one) for one in out):
            out.update([one for one in sources if header in reach(one)][:1])
    return out


def sources_of(command):
    """The sources of the product that a compile command is for: one, or those of a generated batch."""
    path = os.path.relpath(os.path.join(command["directory"], command["file"]), ROOT)
    if path.startswith(tuple(top + "/" for top in TOP)):
        return [path]
    if not os.path.basename(path).startswith("batch_") or not os.path.exists(os.path.join(ROOT, path)):
        return []
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return [one for one in re.findall(r'(?m)^#include "([^"]+)"', file.read()) if one.startswith(tuple(top + "/" for top in TOP))]


def flags_of(command):
    """What clang needs of a command: where headers are, definitions, the language."""
    parts = shlex.split(command.get("command", "")) or command["arguments"]
    out = []
    for at, part in enumerate(parts):
        if part.startswith(("-I", "-D", "-U", "-std=")) and not part.startswith("-D_FORTIFY"):
            out.append(part)
        elif part == "-isystem":
            out += parts[at:at + 2]
    return out


def units():
    """(name, flags, sources): what is parsed together. Sources of one command stay together, because they share their headers."""
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    for command in commands:
        sources = [one for one in sources_of(command) if one in concerned()]
        if sources:
            name = hashlib.sha256("\n".join([command["file"], *sources]).encode()).hexdigest()[:16]
            yield name, flags_of(command), sources


@functools.lru_cache(maxsize=None)
def version():
    return subprocess.run([CLANG, "--version"], capture_output=True, text=True, check=True).stdout


@functools.lru_cache(maxsize=None)
def digest(path):
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return "gone"


def stamp(flags, sources, files):
    return hashlib.sha256(json.dumps([version(), ANALYSIS, flags, sources, [(one, digest(one)) for one in files]]).encode()).hexdigest()


def files_of(depfile):
    with open(depfile, encoding="utf-8") as file:
        text = file.read()
    return sorted({os.path.normpath(os.path.join(BUILD, one)) for one in text.replace("\\\n", " ").split(":", 1)[1].split()})


def judge(unit):
    """What clang says of a unit ("" if nothing), and the files of ours that it read."""
    name, flags, sources = unit
    passed, depfile, batch = (os.path.join(STATE, name + ending) for ending in (".json", ".d", ".cc"))
    if os.path.exists(passed):
        with open(passed, encoding="utf-8") as file:
            known = json.load(file)
        if known["stamp"] == stamp(flags, sources, known["files"]):
            return "", known["files"]
    with open(batch, "w", encoding="utf-8") as file:
        file.writelines(f'#include "{one}"\n' for one in sources)
    ran = subprocess.run([CLANG, *ANALYSIS, *flags, "-MMD", "-MF", depfile, "-MT", "unit", batch], cwd=BUILD, capture_output=True, text=True)
    if ran.returncode != 0:
        return ran.stderr or f"{CLANG} ended with {ran.returncode}", []
    files = [one for one in files_of(depfile) if one != batch]
    with open(passed, "w", encoding="utf-8") as file:
        json.dump({"stamp": stamp(flags, sources, files), "files": files, "sources": sources}, file)
    return "", files


class ThreadSafety(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.assertIsNotNone(shutil.which(CLANG), f"{CLANG} is not there: scripts/test.sh installs it (scripts/packages.sh)")
        os.makedirs(STATE, exist_ok=True)

    def test_no_guarded_member_is_used_without_its_mutex(self):
        all_units = list(units())
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            answers = list(pool.map(judge, all_units))
        said = [f"{' '.join(unit[2])}:\n{text}" for unit, (text, _) in zip(all_units, answers) if text]
        if said:
            self.fail("\n".join(said))
        # A file with locks that no unit has read was judged by nobody.
        seen = {os.path.relpath(one, ROOT) for _, files in answers for one in files}
        self.assertEqual([one for one in product() if (annotated(one) or words(one) & LOCKS) and one not in seen], [])

    def test_every_planted_access_is_refused_and_nothing_else(self):
        ran = subprocess.run([CLANG, *ANALYSIS, "-std=c++20", "-I", ROOT, PLANTED], capture_output=True, text=True)
        refused = sorted({int(one) for one in re.findall(r"planted\.cc:(\d+):\d+: error: .*\[-Werror,-Wthread-safety", ran.stderr)})
        with open(PLANTED, encoding="utf-8") as file:
            planted = [number for number, line in enumerate(file, 1) if line.rstrip().endswith("// refused")]
        self.assertEqual(refused, planted, ran.stderr)
        self.assertNotEqual(ran.returncode, 0)
        self.assertGreater(len(planted), 8)

    def test_every_mutex_says_what_it_guards(self):
        silent = []
        for path in product():
            text = read(path)
            for name in re.findall(r"(?m)^\s*(?:mutable )?(?:Shared|Recursive)?Mutex (\w+)(?: MUSTER_\w+\(\w+\))?;", text):
                if path == MUTEX_HEADER or re.search(r"GUARDED_BY\((?:\w+\.)?%s\)" % name, text):
                    continue
                if (path, name) not in ALONE:
                    silent.append(f"{path}: {name} guards nothing")
        self.assertEqual(silent, [])
        for path, name in ALONE:
            self.assertRegex(read(path), r"Mutex %s\b" % name, "it is no exception any more")


if __name__ == "__main__":
    unittest.main()
