"""A hard property, searched by threads, in parts, by processes, and further after an interruption."""

import unittest

from harness import CONTROLLER, Case

# Code that a compiler fuses otherwise bounds otherwise.
SAME_CODE = ("--jit", "off", "--search", "0")


def names(letter):
    return "".join(f"(declare-const {letter}_{i} Real)" for i in range(5))


class TreeCase(Case):
    def question(self, limit, radius=0.1):
        box = "".join(f"(assert (>= X_{i} -{radius}))(assert (<= X_{i} {radius}))"
                      for i in range(5))
        return self.write(f"p{limit}.vnnlib",
                          names("X") + names("Y") + box + f"(assert (>= (- Y_0 Y_1) {limit}))")

    def search(self, limit, *more, code=0):
        return self.run_json("verify", CONTROLLER, self.question(limit), *SAME_CODE, *more, code=code)


class Jobs(TreeCase):
    def test_the_tree_is_the_same_for_any_number_of_threads(self):
        one = self.search(1, "--jobs", "1")
        self.assertEqual(one["verdict"], "verified")
        self.assertGreater(one["boxes"], 1000)
        for jobs in ("2", "5"):
            self.assertEqual(self.search(1, "--jobs", jobs)["boxes"], one["boxes"])

    def test_threads_find_a_violation(self):
        for jobs in ("1", "3"):
            found = self.run_json("verify", CONTROLLER, self.question(0.6, 0.2), *SAME_CODE, "--jobs",
                                  jobs, code=3)
            self.assertEqual(found["verdict"], "falsified")
            self.assertTrue(all(abs(float(x)) <= 0.2 for x in found["counterexample"]["x"]))


if __name__ == "__main__":
    unittest.main()
