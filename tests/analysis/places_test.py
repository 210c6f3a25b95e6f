"""Places of calls, end to end: programs built with debug information, without, stripped, changed since; report and export.

  places_test.py MEGASCOPE JUDGE MPICC MPICXX MPIFORT|- MPIRUN...
"""

import json
import os
import re
import shutil
import socket
import sys
import unittest

MEGASCOPE, JUDGE, MPICC, MPICXX, MPIFORT, *MPIRUN = sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tools"))
import recorded_case  # noqa: E402

RANKS = 2


def marked_line(source, mark):
    """Number of the line of a source that ends in "in <mark>"."""
    with open(os.path.join(HERE, "places", source), encoding="utf-8") as file:
        lines = [number for number, line in enumerate(file, 1) if re.search(rf"\bin {re.escape(mark)}\s*(\*/)?$", line)]
    assert len(lines) == 1, (source, mark, lines)
    return lines[0]


class Case(recorded_case.Case):
    megascope, mpirun = MEGASCOPE, MPIRUN
    decoding = "strict"
    limit_s = 280

    def call(self, *command, **more):
        """With what it prints on stderr."""
        return super().call(*command, **more) + self.said

    def build(self, compiler, source, *options):
        program = self.path(source.split(".")[0])
        self.call(compiler, "-O2", *options, os.path.join(HERE, "places", source), "-o", program)
        return program

    def build_heat(self, *options):
        self.call(MPICC, "-O2", *options, "-shared", "-fPIC", os.path.join(HERE, "places", "part.c"), "-o", self.path("libpart.so"))
        program = self.path("heat")
        self.call(MPICC, "-O2", *options, os.path.join(HERE, "places", "heat.c"), self.path("libpart.so"),
                  f"-Wl,-rpath,{self.directory}", "-o", program)
        return program

    def record(self, program, formats="none", **more):
        return self.record_ranks(RANKS, program, **{"MEGASCOPE_CALLSITE": "1", "MEGASCOPE_EXPORT": formats, "MEGASCOPE_REPORT": "none", **more})

    @staticmethod
    def places(report):
        """{(function, place): calls} of the calls that have a place."""
        found = {}
        for row in report["places"]:
            if row["module"] or row["place"].startswith("0x"):
                key = (row["function"], re.sub(r"0x[0-9a-f]+", "0x", row["place"]))
                found[key] = found.get(key, 0) + row["calls"]
        return found

    def check_sums(self, report):
        """Every function's places add up to the function."""
        for name, function in report["functions"].items():
            rows = [row for row in report["places"] if row["function"] == name]
            self.assertEqual(sum(row["calls"] for row in rows), function["calls"], name)
            sum_ns = sum(round(row["time_s"] * 1e9) for row in rows)
            self.assertEqual(sum_ns, round(function["time_s"] * 1e9), name)


class Lines(Case):
    def test_of_c_are_right_from_the_program_and_from_a_library(self):
        self.record(self.build_heat("-g"))
        solve, main = marked_line("heat.c", "solve"), marked_line("heat.c", "main")
        inside, part = marked_line("part.c", "inside"), marked_line("part.c", "part_barrier")
        for report in (self.report(), self.stored_report()):
            self.assertEqual(self.places(report), {
                ("MPI_Allreduce", f"solve (heat.c:{solve})"): 50 * RANKS, ("MPI_Barrier", f"main (heat.c:{main})"): RANKS,
                ("MPI_Bcast", f"inside (part.c:{inside})"): RANKS, ("MPI_Barrier", f"part_barrier (part.c:{part})"): RANKS,
                ("MPI_Barrier", "0x"): RANKS})
            self.check_sums(report)
            self.assertEqual(report["notes"], [])
        row = next(row for row in report["places"] if row["function"] == "MPI_Allreduce")
        self.assertEqual((row["caller"], row["line"], row["module"]), ("solve", solve, os.path.realpath(self.path("heat"))))
        self.assertTrue(row["file"].endswith("/places/heat.c"))
        text = self.call(MEGASCOPE, "report", self.run_directory)
        self.assertRegex(text, rf"MPI_Allreduce +solve \(heat\.c:{solve}\) +100 ")

    def test_of_inlined_functions_templates_and_lambdas_in_cpp_are_right(self):
        self.record(self.build(MPICXX, "grid.cpp", "-g"))
        line = {mark: marked_line("grid.cpp", mark) for mark in
                ("grid::Halo<double>::probe", "main", "main::lambda")}
        found = self.places(self.report())
        exchange = [place for function, place in found if function == "MPI_Sendrecv"]
        last = marked_line("grid.cpp", "grid::Halo<double>::exchange")  # a call over two lines belongs to either
        self.assertIn(exchange, [[f"grid::Halo<double>::exchange (grid.cpp:{number})"] for number in (last - 1, last)])
        del found["MPI_Sendrecv", exchange[0]]
        self.assertEqual(found, {
            ("MPI_Comm_rank", f"main (grid.cpp:{line['main']})"): RANKS,
            ("MPI_Iprobe", f"grid::Halo<double>::probe (grid.cpp:{line['grid::Halo<double>::probe']})"): RANKS,
            ("MPI_Barrier", f"main::lambda (grid.cpp:{line['main::lambda']})"): 3 * RANKS})

    @unittest.skipIf(MPIFORT == "-", "no Fortran compiler")
    def test_of_fortran_are_right(self):
        self.record(self.build(MPIFORT, "stove.f90", "-g", "-J", self.directory))
        line = {mark: marked_line("stove.f90", mark) for mark in ("heat::solve", "outer", "stove")}
        self.assertEqual(self.places(self.report()), {
            ("MPI_Allreduce", f"heat::solve (stove.f90:{line['heat::solve']})"): 10 * RANKS,
            ("MPI_Barrier", f"outer (stove.f90:{line['outer']})"): RANKS,
            ("MPI_Comm_rank", f"stove (stove.f90:{line['stove']})"): RANKS})

    def test_come_from_separate_debug_information(self):
        program = self.build_heat("-g")
        self.call("objcopy", "--only-keep-debug", program, program + ".debug")
        self.call("objcopy", "--strip-all", f"--add-gnu-debuglink={program}.debug", program)
        self.record(program)
        self.assertIn(("MPI_Allreduce", f"solve (heat.c:{marked_line('heat.c', 'solve')})"), self.places(self.report()))

    def test_are_looked_for_on_no_server(self):
        self.record(self.build_heat())
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(0)
            self.report(DEBUGINFOD_URLS=f"http://127.0.0.1:{server.getsockname()[1]}/")
            with self.assertRaises(BlockingIOError):
                server.accept()

    def test_are_in_the_exports(self):
        self.record(self.build_heat("-g"), formats="otf2")
        line = marked_line("heat.c", "solve")
        place = f"solve (heat.c:{line})"
        self.call(MEGASCOPE, "export", self.run_directory, "-f", "perfetto,otf2", "-o", self.path("later"))
        with open(self.path("later/trace.perfetto-trace"), "rb") as file:
            self.assertIn(place.encode(), file.read())
        for directory in (self.run_directory, self.path("later")):
            found = json.loads(self.call(sys.executable, JUDGE, os.path.join(directory, "trace.otf2")))["places"]
            self.assertEqual([(text, file.endswith("/places/heat.c"), number, calls) for name, text, file, number, calls in found
                              if name == "MPI_Allreduce"], [(place, True, line, 50 * RANKS)])
            nowhere = [text for name, text, file, number, calls in found if file == "" and number == 0]
            self.assertRegex(" ".join(nowhere), "^0x[0-9a-f]+( 0x[0-9a-f]+)?$")  # of each rank, perhaps at one address


class Without(Case):
    def test_debug_information_the_function_is_told(self):
        self.record(self.build_heat())
        self.assertEqual(self.places(self.report()), {
            ("MPI_Allreduce", "solve (heat+0x)"): 50 * RANKS, ("MPI_Barrier", "main (heat+0x)"): RANKS,
            ("MPI_Bcast", "inside (libpart.so+0x)"): RANKS, ("MPI_Barrier", "part_barrier (libpart.so+0x)"): RANKS,
            ("MPI_Barrier", "0x"): RANKS})

    def test_symbols_the_module_and_the_offset_are_told(self):
        self.record(self.build_heat("-s"))
        report = self.report()
        self.assertEqual(self.places(report), {
            ("MPI_Allreduce", "heat+0x"): 50 * RANKS, ("MPI_Barrier", "heat+0x"): RANKS,
            ("MPI_Bcast", "libpart.so+0x"): RANKS, ("MPI_Barrier", "part_barrier (libpart.so+0x)"): RANKS,
            ("MPI_Barrier", "0x"): RANKS})
        self.check_sums(report)

    def test_without_call_sites_there_is_no_table(self):
        self.record(self.build_heat("-g"), MEGASCOPE_CALLSITE="0")
        self.assertEqual(self.report()["places"], [])
        self.assertNotIn("Calls by call site", self.call(MEGASCOPE, "report", self.run_directory))


class AfterTheRun(Case):
    def notes_about(self, report, problem):
        path = os.path.realpath(self.path("heat"))
        self.assertEqual(report["notes"], [f"places in {path} are not resolved to lines: {problem}"])

    def test_a_program_that_was_built_anew_shows_no_wrong_lines(self):
        self.record(self.build_heat("-g"))
        self.call(MPICC, "-O0", "-g", "-DNEW", os.path.join(HERE, "places", "heat.c"), self.path("libpart.so"), "-o", self.path("heat"))
        report = self.report()
        self.notes_about(report, "the file has changed since the run")
        self.assertIn(("MPI_Allreduce", "heat+0x"), self.places(report))
        told = self.call(MEGASCOPE, "export", self.run_directory, "-f", "perfetto", "-o", self.path("later"))
        self.assertIn("the file has changed since the run", told)

    def test_a_program_without_build_id_that_was_built_anew_shows_no_wrong_lines(self):
        program = self.build_heat("-g", "-Wl,--build-id=none")
        self.record(program)
        self.assertIn(("MPI_Allreduce", f"solve (heat.c:{marked_line('heat.c', 'solve')})"), self.places(self.report()))
        os.utime(program)
        self.notes_about(self.report(), "the file has changed since the run")

    def test_a_program_that_is_gone_is_said(self):
        program = self.build_heat("-g")
        self.record(program)
        os.remove(program)
        report = self.report()
        self.notes_about(report, "the file is not there any more, or cannot be read")
        self.assertIn(("MPI_Allreduce", "heat+0x"), self.places(report))

    def test_damaged_files_do_no_harm(self):
        program = self.build_heat("-g")
        self.record(program)
        with open(program, "rb") as file:
            whole = file.read()
        for step in range(40):
            with open(program, "wb") as file:
                at = 64 + step * len(whole) // 41
                file.write(whole[:at] if step % 2 else whole[:at] + bytes([0xA5] * 64) + whole[at + 64:])
            self.report()


class FilesThatDebugInformationNames(Case):
    """Another user may have made the program, or may create a file that its debug information names: nothing waits for a FIFO."""

    LIMIT_S = 60

    def call(self, *command, **more):
        return super().call(*command, **{"timeout": self.LIMIT_S, **more})

    def become_fifos(self, *paths):
        for path in paths:
            if os.path.lexists(path):
                os.remove(path)
            os.mkfifo(path)

    def check_places(self, allreduce):
        """At the end of a run, in the report and in an export."""
        for report in (self.stored_report(), self.report()):
            self.assertIn(("MPI_Allreduce", allreduce), self.places(report))
        self.call(MEGASCOPE, "export", self.run_directory, "-f", "perfetto,chrome", "-o", self.path("later"))
        with open(self.path("later/trace.perfetto-trace"), "rb") as file:
            self.assertIn(re.sub(r"0x\)$", "0x", allreduce).encode(), file.read())

    def test_split_units_are_not_opened(self):
        for version in ("4", "5"):
            with self.subTest(version=version):
                program = self.build_heat("-g", f"-gdwarf-{version}", "-gsplit-dwarf")
                split = [self.path(name) for name in os.listdir(self.directory) if name.endswith(".dwo")]
                self.assertTrue(split)
                self.become_fifos(*split)
                self.record(program)
                self.check_places(f"solve (heat.c:{marked_line('heat.c', 'solve')})")
                for path in split:
                    os.remove(path)
                for directory in (self.run_directory, self.path("later")):
                    shutil.rmtree(directory)

    def test_shared_debug_information_is_a_regular_file(self):
        program = self.build_heat("-g")
        with open(self.path("link"), "wb") as file:
            file.write(self.path("shared").encode() + b"\0" + bytes(range(20)))
        self.call("objcopy", "--add-section", f".gnu_debugaltlink={self.path('link')}", program)
        self.become_fifos(self.path("shared"))
        self.record(program)
        self.check_places("solve (heat+0x)")

    def test_separate_debug_information_is_a_regular_file(self):
        program = self.build_heat("-g")
        self.call("objcopy", "--only-keep-debug", program, program + ".debug")
        self.call("objcopy", "--strip-debug", f"--add-gnu-debuglink={program}.debug", program)
        self.become_fifos(program + ".debug")
        self.record(program)
        self.check_places("solve (heat+0x)")

    def test_a_program_is_a_regular_file(self):
        program = self.build_heat("-g")
        self.record(program)
        self.become_fifos(program)
        report = self.report()
        self.assertIn(("MPI_Allreduce", "heat+0x"), self.places(report))
        self.assertRegex(report["notes"][0], "cannot be read$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
