#!/usr/bin/env python3
"""bench/run from its command line to its files and exit status, on a build tree of shell scripts."""

import csv
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
RUN = pathlib.Path(__file__).resolve().parents[3] / "bench" / "run"
VERIFIED = "VERIFICATION SUCCESSFUL\ntime {} s"


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.build = pathlib.Path(self.folder.name)

    def program(self, path, output, status=0):
        path = self.build / path
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\necho '{output}'\nexit {status}\n", encoding="utf-8")
        path.chmod(0o755)

    def run_bench(self, *options):
        done = subprocess.run([sys.executable, RUN, "--build", self.build, "-k", "2", "--no-plots",
                               *options], capture_output=True, text=True, check=False)
        results = self.build / "bench" / "results"
        if not (results / "table.csv").exists():
            return done, {}, ""
        with open(results / "table.csv", newline="", encoding="utf-8") as file:
            rows = {row["key"]: row for row in csv.DictReader(line for line in file if line[0] != "#")}
        return done, rows, (results / "table.txt").read_text(encoding="utf-8")

    def test_rows_that_hold_and_rows_that_do_not(self):
        self.program("bench/daxpy", VERIFIED.format("1.00"))
        self.program("bin/musubi", VERIFIED.format("1.04"))
        done, rows, text = self.run_bench("--only", "daxpy")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({key: row["holds"] for key, row in rows.items()},
                         {"daxpy_n2": "no", "daxpy_protocol": ""})
        self.assertEqual(rows["daxpy_n2"]["rounds"], "2")
        self.assertIn("daxpy on 4M doubles, -n 2", text)
        for word in ("processor", "caches", "governor", "huge pages", "kernel", "commit", "load", "settings"):
            self.assertRegex(text, rf"(?m)^{word} +\S")
        self.assertEqual(self.run_bench("--only", "daxpy", "--strict")[0].returncode, 1)
        self.assertEqual(self.run_bench("--only", "daxpy_protocol", "--strict")[0].returncode, 0)

    def test_wrong_result_makes_the_row_invalid(self):
        self.program("bench/daxpy", VERIFIED.format("1.00"))
        for output, status, problem in [("VERIFICATION FAILED\ntime 0.10 s", 1, "VERIFICATION FAILED"),
                                        ("time 0.10 s", 0, "the result is not verified")]:
            with self.subTest(output=output):
                self.program("bin/musubi", output, status)
                done, rows, text = self.run_bench("--only", "daxpy_n2")
                self.assertEqual(done.returncode, 1)
                self.assertEqual((rows["daxpy_n2"]["holds"], rows["daxpy_n2"]["ratio"]), ("no", ""))
                self.assertIn(problem, rows["daxpy_n2"]["problem"])
                self.assertIn(problem, text)

    def test_missing_program_is_said(self):
        self.program("bin/musubi", VERIFIED.format("1.00"))
        done, rows, text = self.run_bench("--only", "mg_a")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(set(rows), {"mg_a_n2", "mg_a_protocol"})
        self.assertIn("bench/mg does not exist", text)

    def test_page_and_readme(self):
        root = self.build / "tree"
        (root / "docs").mkdir(parents=True)
        readme = root / "README.md"
        readme.write_text("before\n<!-- results -->\nold\n<!-- end of results -->\nafter\n",
                          encoding="utf-8")
        self.program("bin/musubi", VERIFIED.format("0.50"))
        self.program("bench/ep", VERIFIED.format("1.00"))
        self.program("bench/daxpy", VERIFIED.format("0.25"))
        done, _, _ = self.run_bench("--page", root, "--only", "ep_a", "daxpy", "is_a")
        text = (root / "docs" / "results.md").read_text(encoding="utf-8")
        self.assertRegex(text, r"(?m)^\| NAS EP, class A \| 1\.00 s \| 0\.500 s \| ")
        self.assertRegex(text, r"(?m)^\| daxpy, 4M doubles \| 0\.250 s \|")
        self.assertRegex(text, r"(?m)^commit +\S")
        shown = readme.read_text(encoding="utf-8")
        self.assertRegex(shown, r"(?s)^before\n<!-- results -->\n\| program .*<!-- end of results -->\nafter")
        self.assertNotIn("daxpy", shown)
        self.assertNotIn("old", shown)
        # A program that cannot be run is told of, on the page as well.
        self.assertEqual(done.returncode, 1)
        self.assertIn("bench/is does not exist", done.stderr)
        self.assertRegex(text, r"NAS IS, class A \| \S+bench/is does not exist")

    def test_termination_leaves_nothing_behind(self):
        # The program waits for a fifo that is never opened; while a process holds its output open, it has not
        # ended.
        self.program("bin/musubi", "")
        os.mkfifo(self.build / "never")
        self.program("bench/daxpy", "")
        (self.build / "bench" / "daxpy").write_text(
            f"#!/bin/sh\necho $$ > {self.build}/started\nexec cat {self.build}/never\n", encoding="utf-8")
        bench = subprocess.Popen([sys.executable, RUN, "--build", self.build, "--only", "daxpy_n2"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        started = self.build / "started"
        while not (started.exists() and started.read_text(encoding="utf-8").endswith("\n")):
            self.assertIsNone(bench.poll())
            time.sleep(0.01)
        bench.terminate()
        self.assertIn("interrupted", bench.communicate()[1])
        self.assertEqual(bench.returncode, 130)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(started.read_text(encoding="utf-8")), signal.SIGKILL)

    def test_what_is_not_there_is_refused(self):
        self.program("bin/musubi", "")
        done, rows, _ = self.run_bench("--only", "no_such_row")
        self.assertIn("no row no_such_row", done.stderr)
        self.assertEqual((done.returncode, rows), (1, {}))


if __name__ == "__main__":
    unittest.main()
