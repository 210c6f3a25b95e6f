"""Tensors that Python programs show: their statistics are those that NumPy computes, for each kind of holder; what is none is refused.

  tensors_test.py MEGASCOPE
"""

import importlib.util
import json
import os
import unittest

from case import Case, main

try:
    import numpy
except ImportError:
    numpy = None

ARRAYS = """
    import array, megascope, numpy
    whole = numpy.arange(24, dtype={dtype!r}).reshape(2, 3, 4)
    megascope.tensor("whole", whole, kind="weight", layer=5, micro_batch=1, split=1, blocks=(4, 1, 1))
    megascope.tensor("every other", whole[:, ::2, ::-1])
    megascope.tensor("transposed", whole.T)
    megascope.tensor("spread", numpy.broadcast_to(whole[0, 0, 3], (3, 2)))
    megascope.tensor("single", whole[1, 2, 3])
    megascope.tensor("no dimension", numpy.array(7, dtype={dtype!r}))
    megascope.tensor("empty", whole[:, :0])
    whole.flags.writeable = False
    megascope.tensor("read only", whole)
    megascope.tensor("unaligned", numpy.frombuffer(b"x" + whole.tobytes(), dtype={dtype!r}, offset=1))
"""


@unittest.skipIf(numpy is None, "there is no NumPy")
class Arrays(Case):
    def check(self, name, values):
        found = self.statistics(name)
        values = numpy.asarray(values, dtype=numpy.float64)
        wanted = {"count": values.size, "nan": 0, "infinite": 0}
        if values.size:
            wanted |= {"min": values.min(), "max": values.max(), "mean": values.mean(), "norm": numpy.sqrt((values**2).sum())}
        self.assertEqual(found.keys(), wanted.keys(), name)
        for key, value in wanted.items():
            self.assertAlmostEqual(found[key], value, delta=1e-12 * max(1, abs(value)), msg=f"{name} {key}")

    def test_any_type_and_strides(self):
        for dtype in ("f8", "f4", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
            with self.subTest(dtype):
                self.run_directory = f"{self.directory}/{dtype}"
                self.record(ARRAYS.format(dtype=dtype), MEGASCOPE_TENSORS="*", MEGASCOPE_TRACE="full")
                whole = numpy.arange(24, dtype=dtype).reshape(2, 3, 4)
                self.check("whole/layer 5/weight", whole)
                self.check("every other/other", whole[:, ::2, ::-1])
                for name in ("transposed", "read only", "unaligned"):
                    self.check(f"{name}/other", whole)
                self.check("spread/other", [3] * 6)
                self.check("single/other", [23])
                self.check("no dimension/other", [7])
                self.check("empty/other", [])
                self.assertEqual(self.losses(), {})
                name = {"f": "float", "i": "int", "u": "uint"}[dtype[0]] + str(8 * int(dtype[1]))
                shown = {event["name"]: event["args"] for event in self.events() if event.get("cat") == "tensor"}
                self.assertEqual((shown["whole"]["kind"], shown["whole"]["shape"], shown["whole"]["micro_batch"]),
                                 ("weight", f"{name} [2, 3, 4]", 1))
                self.assertEqual(shown["transposed"]["shape"], f"{name} [4, 3, 2]")

    def test_other_ways_to_elements(self):
        self.record("""
            import array, megascope, numpy
            class OnlyDlpack:
                def __init__(self, values): self.values = values
                def __dlpack__(self): return self.values.__dlpack__()
            megascope.tensor("dlpack", OnlyDlpack(numpy.arange(12.0).reshape(3, 4)[:, 1::2]))
            megascope.tensor("array", array.array("h", [1, -2, 3]))
            megascope.tensor("bytes", b"abc")
            megascope.tensor("view", memoryview(array.array("d", [1, 2, 3, 4, 5]))[::-2])
            megascope.tensor("float", 2.5)
            megascope.tensor("int", 4)
            megascope.tensor("booleans", numpy.array([True, False, True]))
            """, MEGASCOPE_TENSORS="*")
        self.check("dlpack/other", [1, 3, 5, 7, 9, 11])
        self.check("array/other", [1, -2, 3])
        self.check("bytes/other", [97, 98, 99])
        self.check("view/other", [5, 3, 1])
        self.check("float/other", [2.5])
        self.check("int/other", [4])
        self.check("booleans/other", [1, 0, 1])
        self.assertEqual(self.losses(), {})

    def test_what_is_repeated_without_end_takes_no_time(self):
        self.record("""
            import megascope, numpy
            megascope.tensor("wide", numpy.broadcast_to(numpy.float32(2.5), (1 << 40,)))
            """, MEGASCOPE_TENSORS="*")
        self.assertEqual(self.statistics("wide/other"), {"count": 2.0**40, "nan": 0, "infinite": 0, "min": 2.5, "max": 2.5, "mean": 2.5, "norm": 2.5 * 2.0**20})
        self.assertEqual(self.losses(), {})

    def test_what_is_no_tensor_is_refused(self):
        self.record("""
            import megascope, numpy
            class Rude:
                @property
                def __array_interface__(self): raise RuntimeError
            values = numpy.arange(6.0)
            class Deleted:
                __array_interface__ = {"typestr": "<f8", "shape": (2,), "data": (0, False), "version": 3}
            for none in (numpy.array([None, 1]), numpy.array(["a"]), numpy.array([1j]), values.astype(">f8"),
                         numpy.zeros(2, "f4,i1")["f0"], numpy.datetime64(1, "s"), numpy.zeros((1,) * 9), Rude(), Deleted(), None, "text",
                         object(), [1.0, 2.0], 1j, 10**400, lambda: 0):
                megascope.tensor("none", none)
            for kind in ("none", [], {}, Rude(), None):
                megascope.tensor("x", values, kind=kind)
            megascope.tensor("x", values, split=1)
            megascope.tensor("x", values, split="a")
            megascope.tensor("x", values, blocks=(1, 2, 3, 4, 5))
            megascope.tensor("x", values, blocks=7)
            megascope.tensor(None, values)
            megascope.tensor("x", values, layer="a", micro_batch=2**40)   # as if not told
            megascope.tensor("x", values, blocks=(1, 2), split=0)
            """, MEGASCOPE_TENSORS="*")
        self.assertEqual(self.losses(), {"refused": 16 + 5 + 5})
        self.check("x/other", [0, 1, 2, 3, 4, 5])

    def test_of_a_device_nothing_is_read(self):
        self.record("""
            import megascope
            class OnDevice:
                __cuda_array_interface__ = {"typestr": "<f4", "shape": (4,), "data": (4096, False), "version": 3, "strides": None, "stream": 1}
            megascope.tensor("there", OnDevice())
            """, MEGASCOPE_TENSORS="*", MEGASCOPE_TRACE="full")
        self.assertEqual([event["args"]["shape"] for event in self.events() if event.get("cat") == "tensor"], ["float32 [4]"])
        self.assertEqual([event for event in self.events() if event["ph"] == "C"], [])
        self.assertEqual(sum(self.losses().values()), 1)

    def test_not_requested_and_nothing_is_touched(self):
        script = """
            import megascope
            class Untouchable:
                def __getattribute__(self, name): raise SystemExit("touched")
            for i in range(3):
                megascope.tensor("x", Untouchable())
            print(megascope.wants_tensor("x"), megascope.wants_tensor("loss"))
            """
        self.assertEqual(self.bare(script), "False False\n")
        self.assertEqual(self.record(script), "False False\n")
        self.run_directory += "2"
        self.assertEqual(self.record(script, MEGASCOPE_TENSORS="los*"), "False True\n")
        self.assertEqual(self.losses(), {})

    def test_nothing_is_kept(self):
        self.assertEqual(self.record("""
            import gc, weakref, megascope, numpy
            gc.disable()
            class OnlyDlpack:
                def __init__(self, values): self.values = values
                def __dlpack__(self): return self.values.__dlpack__()
            class Array(numpy.ndarray): pass
            for wrap in (lambda x: x, memoryview, OnlyDlpack):
                values = numpy.zeros(3).view(Array)
                gone = weakref.ref(values)
                megascope.tensor("x", wrap(values))
                del values
                print(gone() is None)
            """, MEGASCOPE_TENSORS="*", MEGASCOPE_TRACE="full"), "True\n" * 3)


@unittest.skipUnless(importlib.util.find_spec("mpi4py"), "there is no mpi4py")
class OverAllRanks(Case):
    def test_the_group_along_which_a_tensor_is_split_is_told(self):
        self.record("""
            import array
            from mpi4py import MPI
            import megascope
            megascope.group("dp", 0, 1)
            for i in range(3):
                with megascope.step(i):
                    values = array.array("d", [3.0, 4.0])
                    megascope.tensor("moment", values, kind="exp_avg", split=0, split_group="dp")
                    megascope.tensor("experts", values, split=0, split_group="ep")
                    megascope.tensor("odd", values, split=0, split_group=object())   # as if not told
            """, MEGASCOPE_TENSORS="*")
        self.assertEqual(self.statistics("moment/exp_avg")["global norm"], 5)
        self.assertNotIn("global norm", self.statistics("experts/other"))
        with open(os.path.join(self.run_directory, "report.json"), encoding="utf-8") as file:
            notes = json.load(file)["notes"]
        self.assertEqual([note for note in notes if "group that was not annotated" in note],
                         ["statistics over all ranks are missing 6 times: a tensor is split along a group that was not annotated (first: experts along ep)"])


if __name__ == "__main__":
    main()
