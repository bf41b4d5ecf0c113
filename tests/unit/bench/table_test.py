#!/usr/bin/env python3
"""The arithmetic of bench/run: medians, ratios, spread, bounds, and the handling of failed runs."""

import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench"))
import alternate  # noqa: E402
import plots  # noqa: E402
import rows  # noqa: E402
import table  # noqa: E402

VERIFIED = "VERIFICATION SUCCESSFUL\ntime 2.5 s\n"


def candidate(name, samples, failure="", others=()):
    runs = [alternate.Run({"time": sample}, cores, 1.0)
            for sample, cores in zip(samples, others or [0.0] * len(samples))]
    return alternate.Candidate(name, f"./{name}", alternate.wall_time, runs, failure)


def judged(kind, bound, ours, peer, beside=None, reason="", failures=None):
    given = {"ours": ours, "peer": peer, **({"beside": beside} if beside is not None else {})}
    candidates = {name: candidate(name, samples, (failures or {}).get(name, ""))
                  for name, samples in given.items()}
    row = table.Row("key", "measure", kind, "s", table.Value("ours", "time"), table.Value("peer", "time"),
                    bound, table.Value("beside", "time") if beside is not None else None)
    return table.judge(row, candidates, reason)


class Arithmetic(unittest.TestCase):
    def test_quantile(self):
        self.assertEqual(table.quantile([7], 0.9), 7)
        self.assertAlmostEqual(table.quantile([40, 10, 30, 20, 50], 0.1), 14)
        self.assertAlmostEqual(table.quantile([40, 10, 30, 20, 50], 0.9), 46)
        self.assertEqual(table.quantile([3, 1, 2], 0.5), 2)

    def test_ratio_is_of_medians_and_spread_of_rounds(self):
        # Medians 3 and 2; rounds 1/1, 3/2 and 9/3.
        result = judged("cost", "<= 1.5", [1, 3, 9], [1, 2, 3])
        self.assertEqual((result["ours"], result["peer"], result["ratio"]), ("3", "2", "1.5"))
        self.assertEqual((result["ratio_min"], result["ratio_max"]), ("1", "3"))
        self.assertEqual((result["ratio_p10"], result["ratio_p90"]), ("1.1", "2.7"))
        self.assertEqual((result["rounds"], result["holds"], result["problem"]), (3, "yes", ""))
        self.assertEqual(result["disturbed"], "no")

    def test_kinds(self):
        self.assertEqual(judged("speed", "", [4.0], [3.0])["ratio"], "0.75")
        self.assertEqual(judged("blocks", "", [4.0], [3.0])["ratio"], "0.75")
        self.assertEqual(judged("extra", "", [65.0], [5.0])["ratio"], "60")

    def test_bounds(self):
        for bound, ours, peer, expected in [("<= 2", 2, 1, "yes"), ("<= 2", 2.01, 1, "no"),
                                            (">= 2", 2, 1, "yes"), (">= 2", 1.99, 1, "no"),
                                            ("> 2", 2, 1, "no"), ("> 2", 2.01, 1, "yes"), ("", 9, 1, "")]:
            with self.subTest(bound=bound, ours=ours):
                self.assertEqual(judged("cost", bound, [ours], [peer])["holds"], expected)

    def test_other_peer(self):
        result = judged("speed", ">= 1", [2.0], [1.0], beside=[4.0])
        self.assertEqual((result["ratio"], result["holds"], result["beside_ratio"]), ("0.5", "no", "2"))

    def test_disturbance_is_weighted_by_time(self):
        runs = [alternate.Run({}, 0.0, 9.0), alternate.Run({}, 1.0, 1.0)]
        self.assertAlmostEqual(alternate.disturbance(runs), 0.1)
        self.assertEqual(alternate.disturbance([]), 0.0)

    def test_disturbed_rows_are_marked(self):
        for others, expected in [(0.2, "yes"), (0.1, "no")]:
            both = {name: candidate(name, [1.0], others=[others]) for name in ("ours", "peer")}
            row = table.Row("key", "measure", "cost", "s", table.Value("ours", "time"),
                            table.Value("peer", "time"))
            result = table.judge(row, both)
            self.assertEqual(result["disturbed"], expected)
            self.assertEqual("tells little" in table.format_table([result]), expected == "yes")

    def test_quietest_rounds_count(self):
        both = [candidate("ours", [1, 2, 3], others=[0.0, 0.9, 0.2]),
                candidate("peer", [4, 5, 6], others=[0.8, 0.9, 0.2])]
        failed = candidate("failed", [], "status 1")
        alternate.count_quietest([*both, failed], 2)
        self.assertEqual([one.samples("time") for one in both], [[1, 3], [4, 6]])


    def test_extra_rounds_until_enough_were_quiet(self):
        for others, expected, counted in [([0, 0, 0, 0, 0], 3, [1, 2]), ([0, 1, 0, 0, 0], 4, [2, 3]),
                                          ([0, 1, 2, 3, 0], 5, [1, 4])]:
            one, left = candidate("one", []), list(enumerate(others))

            def run_round(candidates, *_options, left=left):
                number, cores = left.pop(0)
                candidates[0].runs.append(alternate.Run({"time": number}, cores, 1.0))
            with self.subTest(others=others), unittest.mock.patch("alternate.run_round", run_round):
                alternate.measure([one], 2, extra_rounds=2)
                self.assertEqual(len(others) - len(left), expected)
                self.assertEqual(one.samples("time"), counted)


class Invalid(unittest.TestCase):
    def refused(self, result, problem):
        self.assertIn(problem, result["problem"])
        self.assertEqual((result["holds"], result["ratio"]), ("no", ""))
        text = table.format_table([result])
        self.assertIn("measure", text.splitlines()[1])
        self.assertIn(f"PROBLEM measure: {result['problem']}", text)

    def test_failures_stay_in_the_table(self):
        self.refused(judged("cost", "<= 9", [], [1], failures={"ours": "status 1"}), "ours: status 1")
        self.refused(judged("cost", "<= 9", [1], [], failures={"peer": "no end"}), "peer: no end")
        self.refused(judged("cost", "<= 9", [1], [1], reason="not built"), "not built")
        self.refused(judged("cost", "<= 9", [], [1]), "no value time")
        self.refused(judged("cost", "<= 9", [1, 1], [1]), "2 rounds of ours, 1 of peer")
        for wrong in (0.0, -1.0, float("nan"), float("inf")):
            self.refused(judged("cost", "<= 9", [1.0], [wrong]), "is no time")

    def test_other_peer_that_failed_is_said(self):
        result = judged("cost", "<= 9", [1], [1], beside=[], failures={"beside": "crashed"})
        self.assertEqual((result["holds"], result["problem"]), ("yes", "beside: crashed"))

    def test_one_failure_discards_what_worked_before(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = pathlib.Path(folder, "ran")
            words = f"[ -e {mark} ] && echo VERIFICATION FAILED && exit 1; touch {mark}; echo '{VERIFIED}'"
            one = alternate.Candidate("one", f'sh -c "{words}"', rows.program_times("time"))
            other = alternate.Candidate("other", f"echo '{VERIFIED}'", rows.program_times("time"))
            alternate.measure([one, other], 2, 20.0)
        self.assertEqual((one.failure, one.runs), ("exit status 1: VERIFICATION FAILED", []))
        self.assertEqual((other.failure, other.samples("time")), ("", [2.5, 2.5]))


class Commands(unittest.TestCase):
    def test_alternation_and_warm_up(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "log")
            both = [alternate.Candidate(name, f"sh -c 'echo {name} >> {log}'", alternate.wall_time)
                    for name in "ab"]
            alternate.measure(both, 2, 20.0)
            self.assertEqual(log.read_text(encoding="utf-8").split(), list("ababab"))
        self.assertEqual([len(one.samples("wall")) for one in both], [2, 2])

    def test_run_that_does_not_end(self):
        values, failure = alternate.run_once("sleep 20", alternate.wall_time, 0.1)
        self.assertEqual((values, failure), ({}, "no end within 0.1 s"))

    def test_environment(self):
        with unittest.mock.patch.dict("os.environ", {"OMP_WAIT_POLICY": "active"}):
            def read(output, _seconds):
                return {"lines": len(output.split())}, ""
            words = "sh -c 'echo $OMP_WAIT_POLICY $OMP_NUM_THREADS'"
            self.assertEqual(alternate.run_once(words, read, 20.0)[0], {"lines": 1})
            self.assertEqual(alternate.run_once(f"OMP_NUM_THREADS=2 {words}", read, 20.0, ("OMP_",))[0],
                             {"lines": 1})
            self.assertEqual(alternate.run_once(words, read, 20.0, ("OMP_",))[0], {"lines": 0})


class Reading(unittest.TestCase):
    def test_time_counts_only_when_verified(self):
        read = rows.program_times("time")
        self.assertEqual(read(VERIFIED, 9.0), ({"time": 2.5}, ""))
        self.assertEqual(read("time 2.5 s\n", 9.0), ({}, "the result is not verified"))
        self.assertEqual(read(VERIFIED.replace("SUCC", "UNSUCC"), 9.0)[1], "the result is not verified")
        self.assertEqual(read("VERIFICATION SUCCESSFUL\n", 9.0)[1], "no line `time ... s`")

    def test_costs(self):
        output = 'name,median_ns,p10_ns,p90_ns,rounds\n"a, of 2",15.5,10,20,100\nsomething else\n'
        self.assertEqual(rows.cost_rows("a, of 2")(output, 1.0), ({"a, of 2": 15.5}, ""))
        self.assertEqual(rows.cost_rows("b")(output, 1.0)[1], "no row `b`")
        self.assertEqual(rows.cost_rows("a")('"a",0,0,0,0\n', 1.0)[1], "row `a` has no samples")
        self.assertIn("not verified", rows.cost_rows("a, of 2")(output + "VERIFICATION FAILED\n", 1.0)[1])

    def test_accesses_that_were_no_faults(self):
        output = '"r",1,1,1,100\n"w",1,1,1,50\n read_faults   0  {}  100\n write_faults  0  50  50\n'
        read = rows.fault_rows(["r"], ["w"])
        self.assertEqual(read(output.format(100), 1.0)[1], "")
        self.assertEqual(read(output.format(99), 1.0)[1],
                         "100 accesses timed, but read_faults of rank 1 is 99")


class Plots(unittest.TestCase):
    def test_a_file_for_each_kind(self):
        results = [judged("speed", ">= 0.9", [2.0, 2.1], [1.9, 2.0]), judged("extra", "", [65.0], [5.0]),
                   judged("cost", "<= 9", [], [1.0])]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "table.csv")
            table.write_csv(path, table.COLUMNS, results, ["a note"])
            said = plots.draw_table(path)
            if "not installed" in said:
                self.assertEqual(list(pathlib.Path(folder).glob("*.svg")), [])
                return
            self.assertEqual(said, "Plots: ratios_speed.svg, ratios_extra.svg")
            for name in ("ratios_speed.svg", "ratios_extra.svg"):
                self.assertIn("<svg", pathlib.Path(folder, name).read_text(encoding="utf-8"))
            table.write_csv(path, table.COLUMNS, results[2:])
            self.assertEqual(plots.draw_table(path), "No plots: no row has a result")


class TheSuite(unittest.TestCase):
    def setUp(self):
        self.groups = rows.Suite(pathlib.Path("/build"), pathlib.Path("/musubi"), quick=False).groups()

    def test_rows_name_what_their_group_runs(self):
        keys = [row.key for group in self.groups for row in group.rows]
        self.assertEqual(len(keys), len(set(keys)))
        for group in self.groups:
            names = {one.name for one in group.candidates}
            for row in group.rows:
                with self.subTest(row=row.key):
                    self.assertLessEqual({value.candidate for value in row.values()}, names)
                    self.assertIn(row.kind, table.COMPARE)
                    self.assertIn((row.bound or "<= 1").split()[0], table.HOLDS)

    def test_quick_has_no_bounds(self):
        quick = rows.Suite(pathlib.Path("/build"), pathlib.Path("/musubi"), quick=True).groups()
        self.assertEqual({row.bound for group in quick for row in group.rows}, {""})

    def test_missing_program(self):
        self.assertIn("/build/bench/floors does not exist", rows.missing_program(self.groups[0]))


if __name__ == "__main__":
    unittest.main()
