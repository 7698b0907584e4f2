"""S32: SECURITY.md is there, README links it, and it says what is in scope, what is not, where to report and how soon it is mended."""
import os
import re
import unittest

from muster_server import SOURCE

# A heading, and what its section must say.
SECTIONS = {
    "In scope": (r"tenant", r"quota", r"default", r"web page"),
    "Out of scope": (r"\broot\b", r"members"),
    "Report a vulnerability": (r"private", r"\b14 days\b[^.]*\bcritical\b|\bcritical\b[^.]*\b14 days\b", r"\b45 days\b[^.]*\bhigh\b|\bhigh\b[^.]*\b45 days\b",
                               r"version"),
}


def read(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
        return file.read()


class Policy(unittest.TestCase):
    def test_the_policy_says_what_a_reporter_must_know(self):
        sections = {}
        for part in re.split(r"^## ", read("SECURITY.md"), flags=re.M)[1:]:
            heading, _, text = part.partition("\n")
            sections[heading.strip()] = " ".join(text.split())
        found, missing = 0, []
        for heading, words in SECTIONS.items():
            for word in words:
                if re.search(word, sections.get(heading, ""), re.I):
                    found += 1
                else:
                    missing.append((heading, word))
        print(f"\nS32: {found} of {found + len(missing)} statements are in SECURITY.md")
        self.assertEqual(missing, [])

    def test_readme_links_it(self):
        self.assertIn("](SECURITY.md", read("README.md"))


if __name__ == "__main__":
    unittest.main()
