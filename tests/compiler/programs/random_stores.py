#!/usr/bin/env python3
"""Random loops that store values next to UNWRITTEN (src/checks/abi.h): random_stores.py SEED KERNELS.

As random_loops.py, but of all types, by single accesses mostly. The recorder opens memory for stores alone: a
comparison that is missing, a store or load that needs another check, shows in a sum. No arithmetic has more
than one operand that may be a NaN: compilers choose the one to pass on."""

from random_loops import HEAD, Kernel, main

STORES_HEAD = HEAD + """
#define UNWRITTEN 0xfff5fff5UL
typedef unsigned Word __attribute__((may_alias));
typedef float Float __attribute__((may_alias));
typedef double Double __attribute__((may_alias));
typedef unsigned short Half __attribute__((may_alias));
typedef void* Pointer __attribute__((may_alias));
typedef struct __attribute__((packed, aligned(2), may_alias)) {
  unsigned long value;
} Odd;
unsigned long longs[8] = {UNWRITTEN << 32 | UNWRITTEN, UNWRITTEN << 32, UNWRITTEN, 0x3ff00000fff5fff5, 7,
                          UNWRITTEN << 32 | 0xfff5fff4, 0x7ff00000fff5fff5, 0xfff5fff400000000};
unsigned words[8] = {UNWRITTEN, 3, 0xfff5, 0xfff50000, UNWRITTEN, UNWRITTEN ^ 1, 0xffb5fff5, 0};
"""


class Stores(Kernel):
    sum_type, sum_place = "unsigned long", "((Long*)x0)[5]"

    def place(self, kind, parts=1):
        """An element of an array as parts of another type, mostly where no range finds it."""
        index = self.index()
        if self.choice.random() < 0.6:
            index = f"(indices[i{self.loops - 1}] + ({index}) % 512) % N"
        array = f"x{self.choice.randrange(4)}"
        if parts > 1:
            index = f"{parts} * ({index}) + {self.choice.randrange(parts)}"
        return f"(({kind}*){array})[{index}]"

    def number(self):
        return f"(i{self.choice.randrange(self.loops)} + {self.choice.choice(['n', 'm', '0'])})"

    def odd(self, kind="Long"):
        """A value of which about half are UNWRITTEN, whole or in part."""
        array = "longs" if kind in ("Long", "Double", "Pointer") else "words"
        return f"(({kind}*){array})[{self.number()} & {self.choice.choice([3, 3, 7])}]"

    def long_store(self):
        value = self.choice.choice(
            [
                self.odd(),
                self.odd(),
                "UNWRITTEN",
                "UNWRITTEN << 32",
                f"(long){self.number()}",
                f"{self.odd()} ^ {self.place('Long')}",
                f"{self.number()} & 1 ? {self.odd()} : 5",
                f"(unsigned){self.odd('Word')}",
                f"(unsigned long){self.odd('Word')} << 32 | {self.odd('Word')}",
                f"{self.odd()} | 8",
            ]
        )
        return f"{self.place('Long')} = {value};"

    def word_store(self):
        value = self.choice.choice(
            [self.odd("Word"), self.odd("Word"), "UNWRITTEN", self.number(),
             f"{self.odd('Word')} | 0xfff50000",
             f"(unsigned){self.odd()}", f"{self.odd('Word')} << 1"]
        )
        return f"{self.place('Word', 2)} = {value};"

    def real_store(self):
        """Doubles out of arithmetic keep a low half that is UNWRITTEN, and floats all of it."""
        double = self.choice.choice(
            [self.odd("Double"), f"{self.odd('Double')} * 2.0", f"{self.odd('Double')} + 0.5",
             f"(double){self.number()}", f"(double){self.odd('Float')}",
             f"{self.number()} & 2 ? 1.5 : {self.odd('Double')}",
             f"-{self.odd('Double')}", f"{self.odd('Double')} * {self.number()}"]
        )
        single = self.choice.choice(
            [self.odd("Float"), f"{self.odd('Float')} * 2.0f", f"(float){self.number()}",
             f"{self.odd('Float')} + {self.number()}", f"(float){self.odd('Double')}"]
        )
        if self.choice.random() < 0.5:
            return f"{self.place('Double')} = {double};"
        return f"{self.place('Float', 2)} = {single};"

    def other_store(self):
        """What needs permission to write, and values that are read again."""
        place, odd_place = self.place("Long"), self.place("Half", 4)
        known = f"Long* const q = &{place}; *q = {self.odd()};"
        clobber = f"((Long*)x{self.choice.randrange(4)})[m & 7] = 3;"
        synchronise = f"if (({self.number()} & 63) == {self.choice.randrange(20)}) synchronise();"
        return self.choice.choice(
            [
                f"{self.place('Half', 4)} = 0xfff5;",
                f"{self.place('Half', 4)} = {self.number()};",
                f"{self.place('unsigned char', 8)} = {self.number()};",
                f"((Odd*)&{odd_place})->value = {self.odd()};",
                f"{place} += {self.odd()};",
                f"{place} = {self.odd()}; {place} ^= {self.number()};",
                f"{place} = {self.odd()}; sum += {self.place('Long')};",
                f"{place} = {self.odd()}; sum = sum * 3 + {place};",
                f"{{ {known} {synchronise} *q = {self.odd()}; }}",
                f"{{ {known} {clobber} if ({self.number()} & 1) sum += *q; }}",
                f"{{ {known} if ({self.number()} & 1) ((Half*)q)[1] = {self.number()}; }}",
                f"{{ {known} if ({self.number()} & 1) q[1] = {self.odd()}; }}",
                f"{place} = {self.odd()}; (&{place})[1] = {self.odd()};",
                f"(&{place})[0] = (&{place})[1] = {self.odd()};",
                f"sum += {place}; (&{place})[1] = {self.odd()};",
                f"memcpy(&{place}, longs, 24);",
                f"memcpy(&{place}, longs + 1, 8);",
                f"*(volatile Long*)&{place} = {self.odd()};",
                f"__atomic_store_n(&{place}, {self.odd()}, __ATOMIC_RELAXED);",
                f"{self.place('Pointer')} = {self.odd('Pointer')};",
                f"for (int k = 0; k < 9; ++k) ((Long*)x1)[m & 7] = {self.odd()};",
                f"if ({self.place('Long')} & 1) {place} = {self.odd()}; else {odd_place} = 5;",
            ]
        )

    def statement(self):
        kinds = [self.long_store, self.word_store, self.real_store, self.other_store]
        text = self.choice.choice(kinds)()
        chance = self.choice.random()
        if chance < 0.15:
            return f"if ({self.place('Long')} & 4) {{ {text} }}"
        if chance < 0.3:
            return f"{text} if (({self.number()} & 127) == {self.choice.randrange(20)}) synchronise();"
        return text

    def statement_at(self, depth):
        return f"((Long*)x{self.choice.randrange(4)})[i{depth}] = longs[i{depth} & 3];"


if __name__ == "__main__":
    main(Stores, STORES_HEAD)
