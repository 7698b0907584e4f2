"""The golden corpus: reads it, runs it with some commands, and makes answers of two schedulers comparable."""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 150  # seconds for one line
ALONE = "alone"


def read():
    """{section: {name: shell line}}"""
    sections, here = {}, None
    with open(f"{HERE}/golden_corpus.txt", encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line.startswith("= "):
                here = sections.setdefault(line[2:], {})
            elif line and not line.startswith("#"):
                name, shell = line.split(" | ", 1)
                assert not any(name in one for one in sections.values()), f"{name} is there twice"
                here[name] = shell
    return sections


def answers_file(section):
    return f"{HERE}/golden/{section.replace(' ', '_')}.json"


def recorded(section):
    with open(answers_file(section), encoding="utf-8") as file:
        return json.load(file)


def record(section, answers):
    with open(answers_file(section), "w", encoding="utf-8") as file:
        json.dump(answers, file, indent=1, sort_keys=True, ensure_ascii=False)
        file.write("\n")


def run_line(name, shell, environment, work):
    """{"out", "err", "exit"} of the line, made comparable."""
    place = f"{work}/{name}"
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    process = subprocess.Popen(["bash", "-c", f". {HERE}/prelude.sh\n{shell}"], cwd=place, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    try:
        out, err = process.communicate(timeout=PATIENCE)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, err = process.communicate()
        code = "no answer in time"
    ids = []
    if os.path.exists(f"{place}/.ids"):
        with open(f"{place}/.ids", encoding="utf-8") as file:
            ids = file.read().split()
    return {"out": comparable(out, ids, place), "err": comparable(err, ids, place), "exit": code}


def comparable(text, ids, place):
    """Without what may differ: ids, times, host names, directories. What they were replaced with has no blanks around it to align it."""
    text = text.replace(place, "DIR")
    for one in ids:
        text = re.sub(rf" *(?<![0-9])0*{one}(?![0-9])", lambda match: " ID" if match.group()[0] == " " else "ID", text)
    text = re.sub(r"(\bID[^\s|]*) {2,}", r"\1 ", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "TIME", text)
    text = re.sub(r"slurmstepd-n[12]:", "slurmstepd:", text)  # two slurmd of one machine are told apart so
    # A host list in brackets, the machine, and the members or nodes.
    text = re.sub(r"\b(n|[\w-]+-)\[0?\d-\d\]", "HOSTS", text)
    text = re.sub(rf"\b(n[12]|golden|{re.escape(os.uname().nodename.split('.')[0])})\b( *)", lambda match: "HOST" + match.group(2)[:1], text)
    text = re.sub(r"(batch job|job allocation|[Jj]ob) \d{3,}", r"\1 N", text)
    return "\n".join(line.rstrip() for line in text.split("\n"))


def run(sections, environment, work, workers=6, only=None):
    """{section: {name: answer}}; the section `alone` line by line and before the others."""
    answers = {section: {} for section in sections}
    chosen = [(section, name, shell) for section, lines in sections.items() for name, shell in lines.items() if not only or name in only]

    def one(case):
        section, name, shell = case
        answers[section][name] = run_line(name, shell, environment, work)

    for case in chosen:
        if case[0] == ALONE:
            one(case)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, [case for case in chosen if case[0] != ALONE]))
    return answers
