#!/usr/bin/env python3
"""Random loop nests in C: random_loops.py SEED KERNELS writes a program that prints a sum per kernel.

Compiled with checks and the recorder, all arrays are closed before each kernel and where it synchronises,
overwritten bytes are filled with garbage, and each range that is named must lie in one array: a wrong
overwrite changes a sum, a bogus size leaves the array, a missing check faults. Compiled without, the sums are
the ones to compare with."""

import random
import sys

HEAD = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef CHECKED
#include "recorder.h"
#else
static void synchronise(void) {}
#endif
enum { N = 1 << 14, ARRAYS = 4, SLACK = 1 << 12 };
static double memory[ARRAYS][N + 2 * SLACK] __attribute__((aligned(4096)));
static int indices[N];
typedef unsigned long Long __attribute__((may_alias));
struct Pair {
  double first, second;
};
static void begin(void) {
  for (int k = 0; k < ARRAYS; ++k)
    for (int i = 0; i < N + 2 * SLACK; ++i) memory[k][i] = (i * 7 + k * 3) % 11 - 5;
  for (int i = 0; i < N; ++i) indices[i] = (i * 37) % N;
#ifdef CHECKED
  recorder_close(memory, sizeof memory);
  synchronise();
#endif
}
static int end(const char* name) {
  unsigned long sum = 0;
#ifdef CHECKED
  for (unsigned i = 0; i < recorder_count; ++i) {
    const size_t first = recorder_calls[i].address - (size_t)memory;
    const size_t last = first + recorder_calls[i].bytes - 1;
    const int is_index = recorder_calls[i].address >= (size_t)indices &&
                         recorder_calls[i].address + recorder_calls[i].bytes <= (size_t)(indices + N);
    if (!is_index && (last >= sizeof memory || first / sizeof memory[0] != last / sizeof memory[0])) {
      printf("%s: a range leaves its array: %zu to %zu\\n", name, first, last);
      return 1;
    }
  }
  fprintf(stderr, "%s: %u calls\\n", name, recorder_count);
#endif
  for (int k = 0; k < ARRAYS; ++k)
    for (int i = 0; i < N + 2 * SLACK; ++i) sum = sum * 31 + ((Long*)memory[k])[i];
  printf("%s %#lx\\n", name, sum);
  return 0;
}
#define A(k) (memory[k] + SLACK)
"""


class Kernel:
    """One nest of up to three loops over up to four arrays, whose indices stay in bounds."""

    sum_type, sum_place = "double", "x0[5]"

    def __init__(self, choice, name):
        self.choice, self.name = choice, name
        self.loops = choice.randint(1, 3)
        self.trips = {1: 4000, 2: 60, 3: 20}[self.loops]

    def bounds(self, depth):
        """(first, end) as expressions: constants, parameters, or an outer index, so that trips may be 0."""
        outer = [f"i{k}" for k in range(depth)]
        first = self.choice.choice(["0", "0", "1", "p", *outer])
        end = self.choice.choice(["n", "n", "m", str(self.trips), *(f"n - {name}" for name in outer)])
        return first, end

    def head(self, depth):
        first, end = self.bounds(depth)
        name, step = f"i{depth}", self.choice.choice([1, 1, 1, 2, 3])
        kind = self.choice.choice(["int", "long", "int"])
        if self.choice.random() < 0.2:
            return f"for ({kind} {name} = {end}; {name} > {first}; {name} -= {step}) {{"
        return f"for ({kind} {name} = {first}; {name} < {end}; {name} += {step}) {{"

    def index(self):
        """An index below N in size for all indices below trips."""
        weight = {1: [1, 2, 3], 2: [1, 2, 60, 128, "w"], 3: [1, 20, 200, 32, "w"]}[self.loops]
        terms = []
        for depth in range(self.loops):
            if self.choice.random() < 0.85:
                factor = self.choice.choice(weight)
                if factor == "w":
                    weight = [1, 2]  # the array has room for one
                terms.append(f"{factor} * (long)i{depth}")
        terms.append(str(self.choice.randint(-8, 8)))
        return " + ".join(terms)

    def operand(self):
        if self.choice.random() < 0.1:
            return f"x{self.choice.randrange(4)}[indices[i{self.loops - 1}]]"
        return f"x{self.choice.randrange(4)}[{self.index()}]"

    def statement(self):
        target = f"x{self.choice.randrange(4)}[{self.index()}]"
        value = self.choice.choice(["1.5", "n", self.operand(), f"{self.operand()} + 0.5 * {self.operand()}"])
        operator = self.choice.choice(["=", "=", "=", "+="])
        text = f"{target} {operator} {value};"
        chance = self.choice.random()
        if chance < 0.12:
            return f"if ({self.operand()} > 0) {text}"
        if chance < 0.2:
            return f"if (m > {self.choice.choice([0, 5, 1000])}) {text}"
        if chance < 0.4:
            return self.odd_statement()
        return text

    def odd_statement(self):
        """What ranges before loops do not cover."""
        inner = f"i{self.loops - 1}"
        x, same = f"x{self.choice.randrange(4)}", self.index()
        synchronise = f"if (({inner} & 63) == {self.choice.randrange(20)}) synchronise();"
        pair = f"((struct Pair*)(x{self.choice.randrange(4)} + (({self.index()}) & ~1L)))"
        length = self.choice.choice(["5", "1", f"(({inner} & 7) + 1)", "24"])
        return self.choice.choice(
            [
                f"if ({self.operand()} > 4.5) break;",
                f"if (({inner} & 31) == {self.choice.randrange(20)}) synchronise();",
                f"{x}[{same}] += 1; {synchronise} {x}[{same}] += 2;",
                f"sum += {x}[{same}]; {synchronise} sum += {x}[{same}]; {x}[{same}] = 1;",
                f"for (int k = 0; k < 9; ++k) {{ {x}[m & 7] += 1; if (k == {inner} % 512) synchronise(); }}",
                f"for (long i = m & 7, k = 0; k < (n & 31); ++k) {{ {x}[i] += 1; i = (i * 7 + 3) & 8191; }}",
                f"if ((unsigned)({inner} - 5) < 10) sum += {self.operand()};",
                f"if ({inner} % 16 == 9 && {self.operand()} > 3) synchronise(); else x1[{same}] += 1;",
                f"{pair}->first += {pair}->second;",
                f"x{self.choice.randrange(4)}[m & 7] += {self.operand()};",
                f"memmove(x0 + {self.index()}, x1 + 100 + {self.index()}, {length} * 3);",
                f"memset(x2 + {self.index()}, 0, {length} * 8);",
                f"for (int k = 0; k < ({inner} & 3); ++k) x3[k + {self.index()}] += x2[k];",
                f"if (m > 9) x{self.choice.randrange(4)}[indices[{inner}] & 1023] = 0.5;",
            ]
        )

    def text(self):
        parameters = "double *x0, double *x1, double *x2, double *x3, int n, int m, int p, long w"
        lines = [f"__attribute__((noinline)) static void {self.name}({parameters}) {{",
                 f"  {self.sum_type} sum = 0;"]
        for depth in range(self.loops):
            lines.append("  " * (depth + 1) + self.head(depth))
            if self.choice.random() < 0.2 and depth + 1 < self.loops:
                lines.append("  " * (depth + 2) + self.statement_at(depth))
        for _ in range(self.choice.randint(1, 3)):
            lines.append("  " * (self.loops + 1) + self.statement())
        lines += ["  " * (depth + 1) + "}" for depth in reversed(range(self.loops))]
        return "\n".join([*lines, f"  {self.sum_place} += sum;", "}"])

    def statement_at(self, depth):
        return f"x{self.choice.randrange(4)}[i{depth}] = {depth} + 0.25;"

    def calls(self):
        """Calls with trips of all, none and negative numbers, with arrays apart and the same."""
        lines = []
        for n in (self.trips, self.trips // 2, 1, 0, -3):
            arrays = [self.choice.randrange(4) for _ in range(4)]
            if self.choice.random() < 0.5:
                arrays = self.choice.sample(range(4), 4)
            places = ", ".join(f"A({k})" for k in arrays)
            m, p = self.choice.randint(-2, self.trips), self.choice.randint(0, 9)
            w = self.choice.choice([1, 2, self.trips, 600 if self.loops == 3 else 1])
            lines.append(f"  begin(); {self.name}({places}, {n}, {m}, {p}, {w}); "
                         f'failed |= end("{self.name} {n}");')
        return "\n".join(lines)


def main(kind=Kernel, head=HEAD):
    choice = random.Random(int(sys.argv[1]))
    kernels = [kind(choice, f"kernel{number}") for number in range(int(sys.argv[2]))]
    print(head)
    for kernel in kernels:
        print(kernel.text())
    print("int main(void) {\n  int failed = 0;")
    print("#ifdef CHECKED\n  recorder_guard(memory, sizeof memory);\n#endif")
    for kernel in kernels:
        print(kernel.calls())
    print("  return failed;\n}")


if __name__ == "__main__":
    main()
