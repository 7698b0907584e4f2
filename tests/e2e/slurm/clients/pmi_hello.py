"""A rank that speaks PMI's first wire protocol over PMI_FD, as MPICH does: each puts its card, all meet, each reads the others' cards."""
import os


class Pmi:
    def __init__(self):
        self.file = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)
        self.rank, self.size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])

    def ask(self, **words):
        self.file.write((" ".join(f"{name}={value}" for name, value in words.items()) + "\n").encode())
        line = b""
        while not line.endswith(b"\n"):
            line += self.file.read(1)
        return dict(word.split("=", 1) for word in line.decode().split())


def main():
    pmi = Pmi()
    first = pmi.ask(cmd="init", pmi_version=1, pmi_subversion=1)
    assert first["cmd"] == "response_to_init" and first["rc"] == "0", first
    assert int(pmi.ask(cmd="get_maxes")["vallen_max"]) >= 64
    space = pmi.ask(cmd="get_my_kvsname")["kvsname"]
    assert pmi.ask(cmd="put", kvsname=space, key=f"card-{pmi.rank}", value=f"of-{pmi.rank * pmi.rank}")["rc"] == "0"
    assert pmi.ask(cmd="barrier_in")["cmd"] == "barrier_out"
    cards = [pmi.ask(cmd="get", kvsname=space, key=f"card-{rank}")["value"] for rank in range(pmi.size)]
    print(pmi.rank, pmi.size, " ".join(cards))
    assert pmi.ask(cmd="finalize")["cmd"] == "finalize_ack"


if __name__ == "__main__":
    main()
