"""The golden corpus: some hundred command lines, whose answers are those of a real Slurm but for ids, times, host names and two short lists.

The answers of the real one are recorded (record_golden.py). MUSTER_SLURM_LIVE=1 asks a real one in the same run instead, in the folder
MUSTER_SLURM_DIR (a fresh one, ended with the test, unless set)."""
import os
import shutil
import tempfile
import unittest

import corpus
import differences
import slurm_site


def expected(name, answer):
    for known in (differences.VERSION, differences.OTHER):
        if name in known:
            return {**answer, **known[name][1]}
    return answer


def shown(name, shell, want, got):
    lines = [f"--- {name}: {shell}"]
    for part in ("out", "err", "exit"):
        if want[part] != got[part]:
            lines += [f"  {part}: want {want[part]!r}", f"  {part}:  got {got[part]!r}"]
    return "\n".join(lines)


class GoldenCorpus(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.sections = corpus.read()
        cls.work = tempfile.mkdtemp(prefix="muster-golden-", dir="/tmp")
        os.chmod(cls.work, 0o755)
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        cls.want = {section: corpus.recorded(section) for section in cls.sections}
        if os.environ.get("MUSTER_SLURM_LIVE") == "1":
            cls.want = cls.ask_live()
        cls.only = set(os.environ.get("MUSTER_GOLDEN_ONLY", "").split())
        cls.muster = slurm_site.Muster()
        cls.addClassCleanup(cls.muster.close)
        cls.muster.start()
        cls.muster.burn(400)
        cls.got = corpus.run(cls.sections, cls.muster.environment(), f"{cls.work}/muster", only=cls.only)

    @classmethod
    def ask_live(cls):
        place = os.environ.get("MUSTER_SLURM_DIR")
        golden = slurm_site.Golden(place or f"{cls.work}/slurm").start()
        if not place:
            cls.addClassCleanup(golden.stop)
        return corpus.run(cls.sections, golden.environment(), f"{cls.work}/golden")

    def test_every_answer_is_slurms(self):
        wrong = []
        for section, lines in self.sections.items():
            for name, shell in lines.items():
                if self.only and name not in self.only:
                    continue
                # ThreadSanitizer makes a fork of the step agent's vfork, so that it does not learn why a program did not start.
                if name == "srun_missing_program" and os.environ.get("MUSTER_SANITIZE") == "thread":
                    continue
                want, got = expected(name, self.want[section][name]), self.got[section][name]
                if want != got:
                    wrong.append(shown(name, shell, want, got))
        if wrong:
            self.fail(f"{len(wrong)} answers differ\n" + "\n".join(wrong))

    def test_the_lists_of_differences_are_short_and_needed(self):
        self.assertLessEqual(len(differences.OTHER), 10)
        names = {name: section for section, lines in self.sections.items() for name in lines}
        for known in (differences.VERSION, differences.OTHER):
            for name, (why, answer) in known.items():
                self.assertIn(name, names)
                self.assertTrue(why)
                recorded = corpus.recorded(names[name])[name]
                self.assertNotEqual({**recorded, **answer}, recorded, f"{name} makes no difference")

    def test_the_corpus_is_large_and_recorded(self):
        self.assertGreaterEqual(sum(len(lines) for lines in self.sections.values()), 200)
        for section, lines in self.sections.items():
            self.assertEqual(set(lines), set(corpus.recorded(section)), section)


if __name__ == "__main__":
    unittest.main()
