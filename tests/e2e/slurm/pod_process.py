"""Runs the container of a pod of the test bed, whose pods run nothing: as a kubelet would, with the pod's own command, environment, host name, working
directory, volumes and names of hosts, in namespaces of its own on this machine."""
import os
import re
import shlex
import signal
import subprocess

# What the namespaces are made of: argument 1 is the folder that is staged, 2 the host name, 3 shell words that mount, the rest the command.
SETUP = r"""
set -e
mount --make-rprivate /
mount --bind "$1" /mnt
mount --bind /mnt/hosts /etc/hosts
hostname "$2"
eval "$3"
shift 3
exec "$@"
"""


def expanded(text, variables):
    """Kubernetes' $(NAME) in a command or a value; $$ is a dollar."""
    def of(match):
        if match.group(0) == "$$":
            return "$"
        return variables.get(match.group(1), match.group(0))
    return re.sub(r"\$\$|\$\(([A-Za-z_.][-\w.]*)\)", of, text)


def environment(pod, container):
    """The variables of a container, in order."""
    variables = {}
    for one in container.get("env", []):
        if "valueFrom" in one:
            path = one["valueFrom"]["fieldRef"]["fieldPath"]
            of, key = re.fullmatch(r"metadata\.(annotations|labels)\['(.*)'\]", path).groups()
            variables[one["name"]] = pod["metadata"][of][key]
        else:
            variables[one["name"]] = expanded(one.get("value", ""), variables)
    return variables


class PodProcess:
    """place: a folder of this pod's own; image: what is at /usr/local in the image of its init containers; claims: folders by the name of a claim;
    config_maps: their data by name; hosts: {full name: address} of what the cluster's DNS answers."""

    def __init__(self, pod, place, image, claims, config_maps, hosts):
        self.pod, self.place = pod, place
        os.makedirs(place)
        self.volumes = {one["name"]: self.stage(one, claims, config_maps) for one in pod["spec"]["volumes"]}
        os.symlink(image, f"{place}/image")
        with open(f"{place}/hosts", "w", encoding="utf-8") as file:
            file.write("127.0.0.1 localhost\n")
            for name, address in hosts.items():
                short = [name.removesuffix("." + domain) for domain in pod["spec"].get("dnsConfig", {}).get("searches", []) if name.endswith("." + domain)]
                file.write(" ".join([address, name, *short]) + "\n")

    def stage(self, volume, claims, config_maps):
        """The folder of a volume."""
        if "persistentVolumeClaim" in volume:
            return claims[volume["persistentVolumeClaim"]["claimName"]]
        folder = f"{self.place}/{volume['name']}"
        os.makedirs(folder)
        if "configMap" in volume:
            for key, text in config_maps[volume["configMap"]["name"]].items():
                with open(f"{folder}/{key}", "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(f"{folder}/{key}", volume["configMap"]["defaultMode"])
        else:
            assert "emptyDir" in volume or "projected" in volume, volume
        return folder

    def mounts(self, container, init):
        """Shell words: each folder at the top of a mount is an empty one first, as in an image that has nothing there."""
        mounts = [one for one in container["volumeMounts"] if not one["mountPath"].startswith("/var/run/secrets")]
        tops = {"/tmp", "/usr/local", *("/" + one["mountPath"].split("/")[1] for one in mounts)}
        # The sources are found by descriptors: what is mounted over them does not hide them.
        words = []
        for number, one in enumerate(mounts, 3):
            words.append(f"exec {number}<{shlex.quote(self.volumes[one['name']])}")
        words.append(f"exec 9<{shlex.quote(os.path.realpath(self.place + '/image'))}")
        words += [f"mount -t tmpfs none {top}" for top in sorted(tops)]
        for number, one in enumerate(mounts, 3):
            path = one["mountPath"]
            words += [f"mkdir -p {path}", f"mount --bind /proc/self/fd/{number} {path}", f"exec {number}<&-"]
            if one.get("readOnly"):
                words.append(f"mount -o remount,bind,ro {path}")
        words += ["mount --bind /proc/self/fd/9 /usr/local"] if init else []
        return "; ".join([*words, "exec 9<&-", f"cd {shlex.quote(container.get('workingDir', '/'))}"])

    def start(self, container, init=False):
        variables = environment(self.pod, container)
        command = [expanded(word, variables) for word in [*container["command"], *container.get("args", [])]]
        host = self.pod["spec"].get("hostname") or self.pod["metadata"]["name"]
        words = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", f"HOSTNAME={host}", *(f"{key}={value}" for key, value in variables.items()), *command]
        become = [] if os.geteuid() == 0 else ["--map-root-user"]
        return subprocess.Popen(["unshare", *become, "--mount", "--uts", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", SETUP, "pod", self.place, host,
                                 self.mounts(container, init), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def prepare(self):
        """Runs the init containers."""
        for container in self.pod["spec"].get("initContainers", []):
            with self.start(container, init=True) as process:
                out = process.communicate(timeout=60)[0]
                assert process.returncode == 0, out

    def main(self):
        """The script's container, running."""
        return self.start(self.pod["spec"]["containers"][0])


def terminate(process):
    """SIGTERM to the pod's first process, as the kubelet sends it; its exit status. A first process that has not begun to listen hears nothing."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="utf-8") as file:
        first = int(file.read().split()[0])
    for _ in range(60):
        try:
            os.kill(first, signal.SIGTERM)
            process.communicate(timeout=1)
            return process.returncode
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("the pod does not end by SIGTERM")
