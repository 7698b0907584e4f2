"""A rank as torchrun and its like start one: rank 0 listens at MASTER_ADDR:MASTER_PORT, the others come to it by that name."""
import os
import socket
import time


def main():
    rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    assert os.environ["SLURM_NODEID"] in "01" and int(os.environ["SLURM_LOCALID"]) in (0, 1)
    if rank == 0:
        with socket.create_server(("", place[1])) as server:
            server.settimeout(60)
            total = 0
            for _ in range(size - 1):
                peer, _ = server.accept()
                with peer:
                    total += int(peer.makefile().readline())
        print("sum", total, "of", size)
        return
    for _ in range(600):
        try:
            with socket.create_connection(place, timeout=5) as peer:
                peer.sendall(f"{rank}\n".encode())
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"{place} is not there")


if __name__ == "__main__":
    main()
