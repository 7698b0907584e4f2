"""The table of access rules as the daemon has it: each route and gRPC method with the verb and resource that it asks for."""
import os
import re
import subprocess

from muster_server import BIN, SOURCE

CALLER = os.path.join(BIN, "muster-grpc-caller")


def verb_of(name):
    return name[1:].lower()


def access_rules():
    """way → (verb, resource, scope), read from api/auth/access_rules.h; MUSTER_OBJECT_RULES are written out."""
    with open(f"{SOURCE}/api/auth/access_rules.h", encoding="utf-8") as file:
        text = file.read().replace("\\\n", " ")
    row = r'\{\s*(%s),\s*Verb::(\w+),\s*"([^"]+)"(?:,\s*AccessScope::(\w+))?\s*\}'
    head, table = text.split("#define MUSTER_OBJECT_RULES(PREFIX)")[1].split("\n", 1)
    out = {}
    for way, verb, resource, scope in re.findall(row % r'"[^"]+"', table):
        out[way.strip('"')] = (verb_of(verb), resource, scope or "kService")
    for prefix in re.findall(r'MUSTER_OBJECT_RULES\("([^"]+)"\)', table):
        for method, rest, verb, resource in re.findall(r'\{\s*"(\w+) " PREFIX "([^"]+)",\s*Verb::(\w+),\s*"([^"]+)"\s*\}', head):
            out[f"{method} {prefix}{rest}"] = (verb_of(verb), resource, "kService")
    return out


def routes_of_the_document():
    """"METHOD PATH" of every operation in the OpenAPI document that the daemon serves."""
    out, path = set(), None
    with open(f"{SOURCE}/api/openapi/muster.v1.yaml", encoding="utf-8") as document:
        for line in document:
            if found := re.match(r"^  (/\S*):$", line):
                path = found[1]
            elif found := re.match(r"^    (get|post|put|patch|delete):$", line):
                out |= {f"{found[1].upper()} {path}"} if path else set()
            elif re.match(r"^\S", line):
                path = None
    return out


def methods_of_the_descriptors():
    """"PACKAGE.SERVICE/METHOD" of every method that is compiled in."""
    return set(subprocess.run([CALLER, "--list"], capture_output=True, text=True, check=True, timeout=60).stdout.split())


class GrpcAsker:
    """One process that calls what it is told, each time with the token that it is given."""

    def __init__(self, port):
        self.process = subprocess.Popen([CALLER, f"127.0.0.1:{port}", "--ask"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def call(self, token, method, *messages):
        """(code, the answer in JSON or the error's text). token: None for the account of this process."""
        self.process.stdin.write("\t".join([token or "-", method, *messages]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"the caller ended at {method} {messages}"
        code, _, text = line.rstrip("\n").partition("\t")
        return int(code), text

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()
