"""Every option and variable of the manual pages is taken, or refused by its name: none is unknown, none is ignored.

An option or variable counts as taken if the job's record differs from that of the same job without it; some say only how a command speaks or
what a step does (plausible.py). For the query commands the counts are printed."""
import collections
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import manual
import plausible
import slurm_site

VOLATILE = {"id", "name", "uid", "createTime", "startTime", "endTime", "submitTime", "environment", "submitLine", "nodeList", "attempts", "events", "message", "reason",
            "state", "use", "priority", "explain", "cluster", "object", "exitCode"}

QUEUED = "queued and waiting for resources"
WAITING = "until it waits"  # before the words of a command whose job waits for something


def marks(job):
    """What of a job's record an option could have changed."""
    def walk(value):
        if isinstance(value, dict):
            return {key: walk(one) for key, one in value.items() if key not in VOLATILE and not key.endswith(("Time", "At"))}
        return [walk(one) for one in value] if isinstance(value, list) else value
    return json.dumps(walk(job), sort_keys=True)


class Coverage(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.muster = slurm_site.Muster()
        cls.addClassCleanup(cls.muster.close)
        cls.muster.start()
        cls.work = tempfile.mkdtemp(prefix="muster-coverage-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        for name, text in {"job.sh": "#!/bin/sh\ntrue\n", "vars.txt": "A=1\0", "bb.txt": "#BB x\n", "nodes.txt": "n1\n", "prog.conf": "0 true\n"}.items():
            with open(f"{cls.work}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        cls.fill = {"cluster": slurm_site.NODES[0], "gid": os.getgid(), "uid": os.getuid(), "job": 0, "format": "%i", "names": "jobid", "sort": "i"}
        cls.fill["job"] = cls.call(["sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 900"])[1].strip()

    @classmethod
    def call(cls, words, variables=None):
        environment = dict(cls.muster.environment(), **(variables or {}))
        if words[0] == WAITING:
            return cls.call_until_it_waits(words[1:], environment)
        try:
            done = subprocess.run(words, cwd=cls.work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                                  errors="replace")
            return done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            return None, (late.stdout or b"").decode(), (late.stderr or b"").decode()

    @classmethod
    def call_until_it_waits(cls, words, environment):
        """The command is interrupted as soon as it says that its job waits."""
        with tempfile.TemporaryFile() as told, \
                subprocess.Popen(words, cwd=cls.work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=told, text=True) as process:
            def said():  # without a seek, which would move where the command writes
                return os.pread(told.fileno(), 1 << 20, 0).decode(errors="replace")
            deadline = time.monotonic() + 60
            while process.poll() is None and QUEUED not in said() and time.monotonic() < deadline:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            try:
                out = process.communicate(timeout=60)[0]
            except subprocess.TimeoutExpired:
                process.kill()
                out = process.communicate()[0]
            return process.returncode, out, said()

    def record(self, out):
        """The marks of the job whose id the command told, None without one."""
        found = re.findall(r"\b\d+\b", out)
        return marks(self.muster.job(int(found[-1]))) if found else None

    def words(self, command, option, value):
        """A whole command line with this option."""
        short, long, takes = option
        name = long or short
        given = [] if not name else [f"{name}={value}" if (takes or value) and long else name] + ([value] if takes and not long else [])
        beside = plausible.BESIDE.get(name, [])
        if command == "sbatch":
            last = [] if name == "--wrap" else ["job.sh"]
            held = [] if name in ("--wait", "--test-only", "SBATCH_WAIT") else ["-H"]
            given = [name] if name == "--wait" else [] if name == "SBATCH_WAIT" else given
            return ["sbatch", "--parsable", *held, *beside, *given, *last]
        last = ["sh", "-c", 'echo "$SLURM_JOB_ID"']
        if name in ("--multi-prog",):
            last = ["prog.conf"]
        if name in plausible.WAITS:
            given = [] if name.startswith("SLURM_") else given
            return [WAITING, command, *beside, *given, *last]
        return [command, *beside, *given, *last]

    @staticmethod
    def verdict(names, code, err, changed):
        """taken, refused, unknown, ignored, or unclear: an error that does not name it."""
        if re.search(r"unrecognized option|invalid option --|ambiguous", err) and code:
            return "unknown"
        if code and any(name and name in err for name in names):
            return "refused"
        if changed:
            return "taken"
        return "ignored" if code == 0 else "unclear"

    def value_of(self, name, takes):
        value = plausible.VALUES.get(name, "" if not takes else "1")
        return value.format(**self.fill)

    def baseline(self, command, option):
        """The record of the same job without the option."""
        beside = plausible.BESIDE.get(option, [])
        words = self.words(command, ("", "", False), "")
        return self.record(self.call([words[0], *beside, *words[1:]])[1])

    def check(self, command):
        """Options and variables of a command that makes jobs: {verdict: [name]}."""
        found = collections.defaultdict(list)
        told = {}
        plain = self.baseline(command, "")
        quiet = plausible.NO_MARK | (plausible.NO_MARK_OF_ALLOCATIONS if command != "sbatch" else set())
        options = manual.options(command)
        stems = {option[1].strip("-").replace("-", "_").upper(): option for option in options}

        def option_case(option):
            name = option[1] or option[0]
            code, out, err = self.call(self.words(command, option, self.value_of(name, option[2])))
            before = self.baseline(command, name) if name in plausible.BESIDE else plain
            changed = code == 0 and (name in quiet or self.record(out) != before)
            if command != "sbatch" and name in plausible.WAITS:
                changed = QUEUED in err
            return name, self.verdict(option[:2], code, err, changed), f"{code} {out} {err}"

        def variable_case(name):
            stem = name.split("_", 1)[1]
            option = stems.get(stem) or stems.get({"TIMELIMIT": "TIME", "MEM_PER_NODE": "MEM", "ARRAY_INX": "ARRAY", "LABELIO": "LABEL",
                                                   "UNBUFFEREDIO": "UNBUFFERED", "KILL_BAD_EXIT": "KILL_ON_BAD_EXIT"}.get(stem, ""))
            long = option[1] if option else ""
            value = plausible.VARIABLES.get(name, self.value_of(long, bool(option and option[2]))).format(**self.fill)
            beside = plausible.BESIDE.get(long, [])
            words = self.words(command, ("", name if name == "SBATCH_WAIT" or name in plausible.WAITS else "", False), "")
            code, out, err = self.call([words[0], *beside, *words[1:]], {name: value})
            before = self.baseline(command, long) if beside else plain
            unmarked = name in plausible.NO_MARK_VARIABLES or long in plausible.NO_MARK
            changed = code == 0 and (unmarked or self.record(out) != before)
            if name in plausible.WAITS:
                changed = QUEUED in err
            return name, self.verdict((name, long), code, err, changed), f"{value!r}: {code} {out} {err}"

        # A job that wants a node for itself goes first, while nobody else is there: jobs of the other commands' cases are ended before.
        for _ in range(100):
            others = [id for id in self.call(["squeue", "-h", "-o", "%A"])[1].split() if id not in self.fill.values()]
            if not others:
                break
            self.call(["scancel", *others])
            time.sleep(0.2)
        cases = [(option_case, option) for option in options] + [(variable_case, name) for name in manual.variables(command)]
        alone = [case for case in cases if "exclusive" in str(case[1]).lower()]
        results = [run(one) for run, one in alone]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            results += pool.map(lambda case: case[0](case[1]), [case for case in cases if case not in alone])
            for name, verdict, said in results:
                found[verdict].append(name)
                told[name] = said
        self.call(["scancel", "--me", "-t", "PENDING"])
        print(f"\n{command}: " + ", ".join(f"{len(found[verdict])} {verdict}" for verdict in ("taken", "refused", "unknown", "ignored", "unclear")))
        print("  refused: " + " ".join(found["refused"]))
        wrong = [f"{verdict}: {name}: {told[name]}" for verdict in ("unknown", "ignored", "unclear") for name in found[verdict]]
        if wrong:
            self.fail("\n".join(wrong))

    def test_sbatch(self):
        self.check("sbatch")

    def test_srun(self):
        self.check("srun")

    def test_salloc(self):
        self.check("salloc")

    def test_effects_without_a_mark(self):
        """What leaves no mark on the job of an allocation is seen by what it does."""
        wrong_account = "Invalid account or account/partition combination specified"
        soft = ["sh", "-c", 'ulimit -Sn 321; exec srun "$@" sh -c "ulimit -Sn"', "sh"]
        cases = [
            (["salloc", "-A", "nope", "true"], {}, 1, "", f"salloc: error: Job submit/allocate failed: {wrong_account}\n"),
            (["srun", "-A", "nope", "true"], {}, 1, "", f"srun: error: Unable to allocate resources: {wrong_account}\n"),
            (["salloc", "true"], {"SALLOC_ACCOUNT": "nope"}, 1, "", f"salloc: error: Job submit/allocate failed: {wrong_account}\n"),
            (["srun", "true"], {"SLURM_ACCOUNT": "nope"}, 1, "", f"srun: error: Unable to allocate resources: {wrong_account}\n"),
            (["srun", "sh", "-c", "umask"], {"SLURM_UMASK": "0037"}, 0, "0037\n", ""),
            (["srun", "-o", "made.txt", "true"], {"SLURM_UMASK": "0037"}, 0, "", ""),
            (soft, {}, 0, "321\n", ""),
            ([*soft, "--propagate=NOFILE"], {}, 0, "321\n", ""),
            ([*soft, "--propagate=NOSUCH"], {}, 1, "", "srun: error: --propagate=NOSUCH is not valid.\n"),
        ]
        for words, variables, *expected in cases:
            with self.subTest(words=words, variables=variables):
                self.assertEqual(list(self.call(words, variables)), expected)
        self.assertEqual(os.stat(f"{self.work}/made.txt").st_mode & 0o777, 0o640)
        for limits in ("NONE", "CORE"):
            code, out, err = self.call([*soft, f"--propagate={limits}"])
            self.assertEqual((code, err), (0, ""))
            self.assertNotEqual(out, "321\n")

    def test_scancel(self):
        """A filter that does not fit spares the job, whether it comes as an option or as a variable."""
        spare = {"--account": "other", "--jobname": "another", "--nodelist": "n2", "--partition": "short", "--qos": "high", "--reservation": "nope",
                 "--state": "RUNNING", "--user": "nobody", "--wckey": "other", "--signal": "USR1", "--interactive": ""}
        ends = ("--batch", "--ctld", "--full", "--hurry", "--me", "--quiet", "--verbose", "--clusters", "--sibling")
        found, wrong = collections.Counter(), []
        cases = [(option[1], [f"{option[1]}={spare.get(option[1], self.value_of(option[1], True))}" if option[2] else option[1]], {})
                 for option in manual.options("scancel")]
        for name in manual.variables("scancel"):
            long = "--" + name.split("_", 1)[1].lower().replace("_", "-").replace("name", "jobname")
            cases.append((name, [], {name: spare.get(long, plausible.VARIABLES.get(name, "1"))} if name != "SLURM_CLUSTERS" else {name: slurm_site.NODES[0]}))
        for name, words, variables in cases:
            long = name if name.startswith("--") else "--" + name.split("_", 1)[1].lower().replace("_", "-").replace("name", "jobname")
            job = self.call(["sbatch", "--parsable", "-H", "job.sh"])[1].strip()
            code, out, err = self.call(["scancel", *words, job], variables)
            verdict = self.verdict((name, long), code, err, True)
            state = self.call(["squeue", "-h", "-j", job, "-t", "all", "-o", "%T"])[1].strip()
            if verdict == "taken" and (state == "PENDING") != (long in spare or long in ("--help", "--usage", "--version")):
                verdict = "ignored"
            found[verdict] += 1
            if verdict not in ("taken", "refused"):
                wrong.append(f"{verdict}: {name}: {code} {out} {err} {state}")
            self.call(["scancel", job])
        self.assertTrue(ends)
        print(f"\nscancel: {dict(found)}")
        if wrong:
            self.fail("\n".join(wrong))

    def test_query_commands_are_counted(self):
        """Prints; the second half of the frontend brings the unknown to none."""
        job = self.call(["sbatch", "--parsable", "-H", "job.sh"])[1].strip()

        def count(title, cases):
            found = collections.defaultdict(list)
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                for (name, names, _), (code, _, err) in zip(cases, pool.map(lambda case: self.call(case[2]), cases)):
                    bad = re.search(r"unrecognized|invalid option|Invalid (job|node|field|keyword)|invalid (keyword|entity)|not supported", err, re.I)
                    named = any(one and one in err for one in names) and "not supported" in err
                    found["refused" if named and bad else "unknown" if bad or code is None else "taken"].append(name)
            print(f"{title}: " + ", ".join(f"{len(found[verdict])} {verdict}" for verdict in ("taken", "refused", "unknown")) +
                  f"; unknown: {' '.join(found['unknown'])}; refused: {' '.join(found['refused'])}")

        print()
        for command, entity in (("squeue", []), ("sacct", []), ("sinfo", []), ("scontrol", ["show", "job", job]), ("sacctmgr", ["show", "account"])):
            cases = []
            for short, long, takes in manual.options(command):
                if long == "--iterate":
                    continue
                value = self.value_of(long, takes) if takes else ""
                if command == "sacct" and long == "--format":
                    value = "jobid"
                cases.append((long or short, (long, short), [command, f"{long}={value}" if takes and long else long or short, *entity]))
            count(f"{command} options", cases)
        for command, select in (("squeue", ["-j", job]), ("sinfo", [])):
            count(f"{command} letters", [(letter, (f"%{letter}", letter), [command, *select, "-h", "-o", f"%{letter}"]) for letter in manual.letters(command)])
            count(f"{command} -O names", [(name, (name,), [command, *select, "-h", "-O", name]) for name in manual.names(command)])
        verbs, entities = manual.verbs()
        words = {"hold": [job], "release": [job], "uhold": [job], "requeue": [job], "requeuehold": [job], "suspend": [job], "resume": [job], "top": [job],
                 "notify": [job, "hello"], "show": ["config"], "wait_job": ["9999999"], "update": [f"jobid={job}", "nice=1"], "listpids": [job], "pidinfo": ["1"],
                 "errnumstr": ["2000"], "cluster": ["x"], "create": ["reservation"], "delete": ["reservationname=x"], "write": ["batch_script", job, "-"]}
        count("scontrol verbs", [(verb, (verb,), ["scontrol", verb, *words.get(verb, [])]) for verb in verbs])
        count("scontrol show", [(one, (one,), ["scontrol", "show", one, *({"job": [job], "hostnames": ["n1"], "hostlist": ["n1"], "hostlistsorted": ["n1"]}.get(one, []))])
                                for one in entities])
        self.call(["scancel", job])


if __name__ == "__main__":
    unittest.main()
