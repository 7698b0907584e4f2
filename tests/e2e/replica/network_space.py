"""A network namespace that holds a server of a test, and the link to it, which can be made half open. Needs root (or CAP_NET_ADMIN and
CAP_SYS_ADMIN) and iproute2. Nothing outside this host can reach the server."""
import os
import subprocess


def _ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=30)


class Space:
    def __init__(self):
        number = os.getpid()
        self.name, self.link = f"muster-{number}", f"mst{number}"
        # A network of four addresses for each test process.
        block = number * 4 % 65536
        network = f"10.213.{block // 256}"
        self.client, self.server = f"{network}.{block % 256 + 1}", f"{network}.{block % 256 + 2}"
        _ip("netns", "add", self.name)
        try:
            _ip("link", "add", self.link, "type", "veth", "peer", "name", "server", "netns", self.name)
            _ip("addr", "add", f"{self.client}/30", "dev", self.link)
            _ip("link", "set", self.link, "up")
            for words in (("addr", "add", f"{self.server}/30", "dev", "server"), ("link", "set", "server", "up"), ("link", "set", "lo", "up")):
                _ip("-n", self.name, *words)
        except BaseException:
            self.close()
            raise

    def enter(self, account="postgres"):
        """Words before a command that is to run in here as that account."""
        return ["ip", "netns", "exec", self.name, "setpriv", f"--reuid={account}", f"--regid={account}", "--init-groups"]

    def cut(self):
        """From now on the server receives everything, and nothing that it sends arrives."""
        _ip("-n", self.name, "route", "add", "blackhole", f"{self.client}/32")

    def heal(self):
        _ip("-n", self.name, "route", "del", "blackhole", f"{self.client}/32")

    def close(self):
        """The link ends with the namespace, and that with its last process."""
        subprocess.run(["ip", "link", "del", self.link], check=False, capture_output=True, timeout=30)
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True, timeout=30)
