"""What Python programs tell: the library loaded or not, exceptions, threads, forks, many names, nonsense; read back by `megascope`.

  annotation_test.py MEGASCOPE
"""

import collections
import os

from case import LIBRARY, MEGASCOPE, Case, main

STEPS = 5
TOLD = f"""
    import megascope
    print(megascope.is_recording())
    @megascope.region("load")
    def load(value):
        return value + 1
    for i in range({STEPS}):
        with megascope.step(i):
            assert load(1) == 2
            for m in range(2):
                with megascope.region("forward", micro_batch=m, layer=3):
                    with megascope.region("inner"):
                        pass
            megascope.counter("loss", 1 / (i + 1), "nats")
    megascope.step_begin({STEPS})
    megascope.step_end()
    megascope.mark("done")
    print(megascope.group("dp", 1, 2), megascope.save(), repr(megascope.last_error()))
"""


class Told(Case):
    def test_nothing_happens_without_the_library(self):
        self.assertEqual(self.bare(TOLD), "False\nFalse False ''\n")
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(self.said, "")

    def test_nothing_happens_where_it_is_switched_off(self):
        self.assertEqual(self.record(TOLD, MEGASCOPE_ENABLE=0).splitlines()[0], "False")
        self.assertEqual(os.listdir(self.folder), [])

    def test_everything_is_recorded(self):
        self.assertEqual(self.record(TOLD), "True\nTrue True ''\n")
        self.assertEqual(self.counts(), {"step": STEPS + 1, "load": STEPS, "forward": 2 * STEPS, "inner": 2 * STEPS})
        self.assertEqual(self.losses(), {})
        self.assertEqual(self.nested()[:6], ["step", "step/load", "step/forward", "step/forward/inner", "step/forward",
                                             "step/forward/inner"])
        events = self.events()
        self.assertEqual([event["args"]["step"] for event in events if event.get("name") == "step"], list(range(STEPS + 1)))
        self.assertEqual([event["args"] for event in events if event.get("name") == "forward"],
                         [{"micro_batch": m, "layer": 3} for _ in range(STEPS) for m in range(2)])
        self.assertEqual([event["args"]["value"] for event in events if event["ph"] == "C"], [1 / (i + 1) for i in range(STEPS)])
        self.assertEqual([event["name"] for event in events if event["ph"] == "i"], ["done"])

    def test_where_the_library_is_only_named_to_nvtx_it_is_found(self):
        settings = self.settings(NVTX_INJECTION64_PATH=LIBRARY)
        del settings["LD_PRELOAD"]
        self.assertEqual(self.bare(TOLD, **settings), "True\nTrue True ''\n")
        self.assertEqual(self.counts()["forward"], 2 * STEPS)
        self.assertEqual(self.bare(TOLD, NVTX_INJECTION64_PATH="/nowhere/libmegascope.so"), "False\nFalse False ''\n")
        self.assertEqual(self.bare(TOLD, NVTX_INJECTION64_PATH="/nowhere/tool.so"), "False\nFalse False ''\n")

    def test_importing_needs_and_begins_nothing(self):
        said = self.record("import sys, megascope; print('numpy' in sys.modules, 'torch' in sys.modules)")
        self.assertEqual(said, "False False\n")
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_group_may_begin_the_recording(self):
        self.assertEqual(self.record("import megascope; print(megascope.group('dp', 0, 2))"), "True\n")
        self.assertEqual(self.losses(), {})

    def test_groups(self):
        self.assertEqual(self.record("""
            import megascope
            class OfTorch:
                def rank(self): return 1
                def size(self): return 2
            class OfMpi4py:
                rank, size = 2, 3
            class Freed:
                @property
                def rank(self): raise RuntimeError("freed")
            print(megascope.group("tp", comm=OfTorch()), megascope.group("pp", comm=OfMpi4py()), megascope.groups("ep=1"))
            print(megascope.group("dp", 2, 2), megascope.group("dp", comm=Freed()), megascope.group("a b", 0, 1), megascope.group("dp"),
                  megascope.group("dp", -2**40, 2**31), megascope.groups("tp=5"), megascope.groups(None))
            """), "True True True\nFalse False False False False False False\n")
        self.assertEqual(self.losses(), {"refused": 7})
        self.call("grep", "-q", "--binary-files=text", "pp 2 3", os.path.join(self.run_folder, "rank-0.mgt"))

    def test_exceptions_end_what_they_leave(self):
        self.record("""
            import megascope
            def fail():
                with megascope.region("a"):
                    with megascope.region("b", layer=1):
                        raise KeyError("x")
            for i in range(3):
                try:
                    with megascope.step(i):
                        fail()
                except KeyError:
                    pass
            """)
        self.assertEqual(self.nested(), ["step", "step/a", "step/a/b"] * 3)
        self.assertEqual(self.losses(), {})

    def test_a_program_that_dies_of_an_exception_keeps_its_trace(self):
        self.record("""
            import megascope
            with megascope.step(0), megascope.region("a"):
                raise SystemExit(3)
            """, code=3)
        self.assertEqual(self.counts(), {"step": 1, "a": 1})

    def test_decorated_functions(self):
        self.assertEqual(self.record("""
            import asyncio, megascope
            @megascope.region("plain")
            def plain(a, *, b=2):
                "its text"
                return a + b
            @megascope.region("generator")
            def generator():
                yield 1
            @megascope.region("coroutine")
            async def coroutine():
                return 3
            print(plain(1), plain.__name__, plain.__doc__, list(generator()), asyncio.run(coroutine()))
            """), "3 plain its text [1] 3\n")
        self.assertEqual(self.counts(), {"plain": 1})

    def test_threads_have_regions_of_their_own(self):
        self.record("""
            import threading, megascope
            def work():
                for i in range(500):
                    with megascope.region("outer"), megascope.region("inner"):
                        megascope.counter("c", i)
            threads = [threading.Thread(target=work) for _ in range(8)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            """)
        self.assertEqual(self.counts(), {"outer": 4000, "inner": 4000})
        self.assertEqual(self.losses(), {})

    def test_a_forked_child_records_nothing_and_goes_on(self):
        self.assertEqual(self.record("""
            import os, megascope
            with megascope.region("before"):
                child = os.fork()
                with megascope.region("both"):
                    if child == 0:
                        os.write(1, f"{megascope.is_recording()} {megascope.save()}\\n".encode())
                        os._exit(7)
                print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            """), "False False\n7\n")
        self.assertEqual(self.counts(), {"before": 1, "both": 1})

    def test_workers_that_were_forked_before_anything_was_told_record_for_themselves(self):
        self.record("""
            import megascope, multiprocessing
            def work(number):
                with megascope.region(f"worker {number}"): pass
            workers = [multiprocessing.get_context("fork").Process(target=work, args=(number,)) for number in range(2)]
            for worker in workers: worker.start()
            for worker in workers: worker.join()
            assert [worker.exitcode for worker in workers] == [0, 0]
            """)
        folders = [os.path.join(self.folder, name) for name in os.listdir(self.folder)]
        for folder in folders:
            self.call(MEGASCOPE, "recover", folder)  # such workers end by os._exit()
        told = [self.counts(self.report(folder)) for folder in folders]
        self.assertCountEqual(told, [{"worker 0": 1}, {"worker 1": 1}])

    def test_a_hundred_thousand_names(self):
        self.assertEqual(self.record("""
            import megascope
            for i in range(100_000):
                with megascope.region(f"region {i}"):
                    megascope.counter(f"counter {i}", i)
            with megascope.region("region 7", layer=1): pass
            print(megascope.last_error())
            """), "a name was not defined: there are too many names\n")
        names = collections.Counter(event["name"] for event in self.events() if event["ph"] == "X")
        self.assertEqual(names, {f"region {i}": 2 if i == 7 else 1 for i in range(64_256)})
        self.assertEqual(self.losses(), {"refused": 100_000 - 64_256})

    def test_names_of_any_bytes(self):
        self.record(r"""
            import megascope
            for name in ("größe", b"\xff\xfe", "\ud800", "a\0b", "x" * 5000):
                with megascope.region(name): pass
            """)
        self.assertEqual(len(self.counts()), 5)
        self.assertLessEqual({"größe", "a", "\\ud800"}, set(self.counts()))
        self.assertEqual(self.losses(), {})

    def test_nonsense_is_counted_and_never_raised(self):
        self.record("""
            import megascope
            class Rude:
                __hash__ = None
                def __float__(self): raise RuntimeError
                def __int__(self): raise RuntimeError
                def __getattr__(self, name): raise RuntimeError
            for name in (None, "", b"", 3, Rude()):        # 5 names
                with megascope.region(name): pass
            megascope.mark(None), megascope.mark(Rude())   # known to be none, 1
            for value in (Rude(), "x", None):              # 3
                megascope.counter("c", value)
            megascope.counter("c", 10**400)                # 1: no float
            for step in (-1, "x", None, Rude(), 2**70):    # 5
                megascope.step_begin(step)
            megascope.counter("c", True), megascope.counter("c", 2)
            with megascope.region("far", layer=2**80, micro_batch="x"): pass
            megascope.step_end()                           # unbalanced
            """)
        self.assertEqual(self.losses(), {"refused": 5 + 1 + 3 + 1 + 5, "unbalanced": 1})
        self.assertEqual(self.counts(), {"far": 1})

    def test_numbers_of_other_libraries(self):
        self.record("""
            import numpy, megascope
            for i in numpy.arange(3):
                with megascope.step(i), megascope.region("a", layer=i):
                    megascope.counter("c", numpy.float32(i) / 2)
            """)
        self.assertEqual([event["args"] for event in self.events() if event.get("name") in ("a", "c")],
                         [{"layer": 0}, {"value": 0}, {"layer": 1}, {"value": 0.5}, {"layer": 2}, {"value": 1}])

    def test_windows_of_steps(self):
        self.record(TOLD, MEGASCOPE_STEP_START=1, MEGASCOPE_STEP_INTERVAL=2)
        self.assertEqual([event["args"]["step"] for event in self.events() if event.get("name") == "step"], [1, 3, 5])


if __name__ == "__main__":
    main()
