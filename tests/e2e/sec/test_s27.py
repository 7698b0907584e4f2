"""S27: how the programs are built, and what the systemd units leave to a service."""
import os
import re
import shutil
import subprocess
import unittest

from muster_server import BIN, SOURCE

PROGRAMS = [f"{BIN}/{name}" for name in ("musterd", "muster-launcher", "muster", "muster-pod-supervisor", "slurm/sbatch")]
# What systemd-analyze may find at most. The daemon has no rights; the launcher keeps those that changing users takes.
EXPOSURE = {"musterd.service": 2.5, "muster-launcher.service": 6.5}


def readelf(program, *flags):
    return subprocess.run(["readelf", "-W", *flags, program], check=True, capture_output=True, text=True).stdout


class S27(unittest.TestCase):
    def test_programs_are_hardened(self):
        checks = 0
        for program in map(os.path.realpath, PROGRAMS):
            with self.subTest(program=program):
                self.assertRegex(readelf(program, "-h"), r"Type:\s+DYN", "position-independent")
                headers, dynamic = readelf(program, "-l"), readelf(program, "-d")
                self.assertIn("GNU_RELRO", headers)
                self.assertRegex(dynamic, r"BIND_NOW|FLAGS_1.*NOW", "full RELRO")
                stack = re.search(r"GNU_STACK.*?(R[W ]?E?)\s+0x", headers)
                self.assertTrue(stack and "E" not in stack.group(1), headers)
                self.assertNotRegex(dynamic, r"RPATH|RUNPATH")
                if os.environ.get("MUSTER_SANITIZE"):
                    continue  # sanitizers have checks of their own in place of what follows
                symbols = readelf(program, "--dyn-syms", "-s")
                # A failure does not print the million characters.
                self.assertTrue("__stack_chk_fail" in symbols, "canaries")
                self.assertRegex(symbols, r"__\w+_chk\b", "fortified functions")
                checks += 7
        print(f"S27: {len(PROGRAMS)} programs, {checks} checks")

    def test_the_build_asks_for_what_no_file_shows(self):
        with open(os.path.join(SOURCE, "scripts/cmake/MusterTargets.cmake"), encoding="utf-8") as file:
            targets = file.read()
        for flag in ("-fstack-clash-protection", "-fstack-protector-strong", "-fcf-protection", "-D_FORTIFY_SOURCE=2", "-z,relro,-z,now"):
            self.assertIn(flag, targets)

    def test_units_leave_little(self):
        tool = shutil.which("systemd-analyze")
        for unit, most in EXPOSURE.items():
            path = os.path.join(SOURCE, "scripts/systemd", unit)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertIn("SystemCallFilter=", text)
            self.assertIn("CapabilityBoundingSet=", text)
            self.assertIn("LimitCORE=0", text, "a core file would have the keys")
            if tool is None:
                continue
            said = subprocess.run([tool, "security", "--offline=true", "--no-pager", path], capture_output=True, text=True, check=False).stdout
            found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", said)
            self.assertIsNotNone(found, said)
            print(f"S27: {unit} {found.group(1)} of at most {most}")
            self.assertLessEqual(float(found.group(1)), most)


if __name__ == "__main__":
    unittest.main()
