"""The lint tests find what they look for, and nothing else."""

import contextlib
import fnmatch
import io
import os
import tempfile
import unittest

import check_docs
import check_extending
import check_facts
import check_files
import check_includes
import check_sizes
import check_words
import glossary
import repository


def includes(path, text):
    return check_includes.check_file(path, text, lambda name: True)


class Facts(unittest.TestCase):
    def test_kinds_are_used_in_core_record_and_by_producers_only(self):
        line = "if (fact.kind == FactKind::kSend) ++count;\n"
        self.assertEqual(check_facts.check_file("exporters/otf2/a.cpp", "\n" + line),
                         ["exporters/otf2/a.cpp:2: FactKind outside of core and producers; use events::visit() (event_view.h)"])
        for path in ("core/record/a.cpp", "mpi_layer/semantics/a.h", "analysis/synth/a.cpp", "tests/core/a.cpp"):
            self.assertEqual(check_facts.check_file(path, line), [])

    def test_fields_of_facts_are_found(self):
        for code in ("total += fact.bytes;", "use(fact_->peer);", "if (call.facts.front().tag == 1)", "x = facts[0].comm;",
                     "x = view.fact().request;", "std::ranges::find(call.facts, 3, &Fact::kind)"):
            self.assertEqual(len(check_facts.check_file("analysis/hang/a.cpp", code + "\n")), 1, code)

    def test_views_comments_and_other_structs_are_fine(self):
        for code in ("total += send.bytes();", "// fact.bytes", "report(facts.ranks);", "keep(view.fact());", "posted = fact;"):
            self.assertEqual(check_facts.check_file("analysis/hang/a.cpp", code + "\n"), [], code)


class Includes(unittest.TestCase):
    def test_downward_is_fine(self):
        self.assertEqual(includes("mpi_layer/calls/a.cpp", '#include "core/buffer/b.h"\n#include <mpi.h>\n'), [])
        self.assertEqual(includes("core/buffer/a.cpp", '#include "core/base/b.h"\n#include <vector>\n'), [])
        self.assertEqual(includes("exporters/otf2/a.cpp", '#include "exporters/common/b.h"\n#include <otf2/otf2.h>\n'), [])

    def test_upward_is_found_with_its_line(self):
        self.assertEqual(includes("core/base/a.h", '\n#include "core/config/b.h"\n'),
                         ["core/base/a.h:2: core/config/b.h is of layer 0.2, not below core/base (0.1)"])

    def test_sideways_is_found(self):
        self.assertEqual(len(includes("exporters/otf2/a.cpp", '#include "analysis/common/b.h"\n')), 1)
        self.assertEqual(len(includes("analysis/detect/a.cpp", '#include "analysis/whatif/b.h"\n')), 1)
        self.assertEqual(len(includes("exporters/otf2/a.cpp", '#include "exporters/chrome/b.h"\n')), 1)
        self.assertEqual(len(includes("plugin/run/a.cpp", '#include "plugin/cli/run/b.h"\n')), 1)

    def test_layers_inside_a_directory_are_found_and_hold_in_it_only(self):
        self.assertEqual(includes("mpi_layer/handles/a.h", '#include "mpi_layer/calls/b.h"\n'), [])
        self.assertEqual(includes("mpi_layer/calls/a.h", '#include "mpi_layer/semantics/b.h"\n'),
                         ["mpi_layer/calls/a.h:1: mpi_layer/semantics/b.h is of layer 3.6, not below mpi_layer/calls (3.3)"])
        self.assertEqual(len(includes("mpi_layer/wrappers/a.cpp", '#include "mpi_layer/fortran/b.h"\n')), 1)
        self.assertEqual(len(includes("plugin/cli/run/a.cpp", '#include "plugin/run/b.h"\n')), 1)
        self.assertEqual(len(includes("plugin/live/hub/a.cpp", '#include "mpi_layer/table/b.h"\n')), 1)
        self.assertEqual(includes("mpi_layer/calls/a.cpp", '#include "plugin/live/protocol/b.h"\n'),
                         ["mpi_layer/calls/a.cpp:1: plugin/live/protocol/b.h is of another directory than mpi_layer/calls: decimals order the modules of one parent directory only"])

    def test_the_table_of_layers_is_that_of_cmake(self):
        layers = {"core/base": 0.1, "analysis/common": 1.1, "analysis/match": 1.2}
        self.assertEqual(check_includes.table_problems("| 0.1 | `core/base` | x |\n| 1 | `analysis` | y |\n", layers), [])
        self.assertEqual(check_includes.table_problems("| 0.2 | `core/base`, `core/gone` | x |\n", layers),
                         ["docs/architecture.md: core/base is not of layer 0.2 in CMake", "docs/architecture.md: core/gone is not of layer 0.2 in CMake",
                          "docs/architecture.md: no row for analysis/common", "docs/architecture.md: no row for analysis/match"])

    def test_vendor_headers_have_one_home(self):
        self.assertEqual(len(includes("core/trace/a.cpp", "#include <mpi.h>\n")), 1)
        self.assertEqual(len(includes("mpi_layer/table/a.cpp", "#include <mpi.h>\n")), 1)
        self.assertEqual(len(includes("exporters/chrome/a.cpp", "#include <otf2/otf2.h>\n")), 1)
        self.assertEqual(len(includes("core/trace/a.cpp", "#include <zstd.h>\n")), 1)
        self.assertEqual(len(includes("exporters/chrome/a.cpp", "#include <thread>\n")), 1)
        self.assertEqual(includes("kernels/stats_cuda.cu", "#include <cuda_runtime.h>\n"), [])
        self.assertEqual(includes("tests/mpi/a.cpp", "#include <mpi.h>\n"), [])

    def test_paths_start_at_the_root(self):
        problems = check_includes.check_file("core/base/a.cpp", '#include "a.h"\n', lambda name: False)
        self.assertEqual(problems, ['core/base/a.cpp:1: "a.h" is no path from the root of the repository'])

    def test_environment_is_read_in_one_module(self):
        self.assertEqual(len(includes("core/trace/a.cpp", 'auto x = std::getenv("X");\n')), 1)
        self.assertEqual(includes("core/trace/a.cpp", '// getenv is not called\nauto x = "getenv";\n'), [])
        self.assertEqual(includes("core/config/environment.cpp", 'auto x = std::getenv("X");\n'), [])

    def test_library_code_neither_exits_nor_prints(self):
        for line in ("std::cout << 1;", 'printf("x");', "std::exit(1);", "abort();"):
            self.assertEqual(len(includes("mpi_layer/calls/a.cpp", line + "\n")), 1, line)
        for line in ("MPI_Abort(comm, 1);", "_exit(1);", 'std::snprintf(b, n, "x");', "table.abort(comm);"):
            self.assertEqual(includes("mpi_layer/calls/a.cpp", line + "\n"), [], line)


class Docs(unittest.TestCase):
    def problems(self, text):
        return check_docs.check_text("docs/a.md", text, {"MEGASCOPE_OUT"}, {"run"}, lambda name: name == "docs/b.md")

    def test_what_is_there_is_fine(self):
        self.assertEqual(self.problems("`MEGASCOPE_OUT=x megascope run -- ./app`, MEGASCOPE_*, megascope is; [b](b.md#c), [d](https://x.y)\n"), [])

    def test_what_is_not_there_is_found_with_its_line(self):
        self.assertEqual(self.problems("\nMEGASCOPE_OTU\n"), ["docs/a.md:2: MEGASCOPE_OTU is no option"])
        self.assertEqual(self.problems("```sh\nmegascope rnu\n```\n"), ["docs/a.md:2: there is no command megascope rnu"])
        self.assertEqual(self.problems("see [c](../c.md)"), ["docs/a.md:1: there is no file ../c.md"])


class Readmes(unittest.TestCase):
    FILES = ("core/a/one.h", "core/a/two.h", "core/a/two.cpp", "core/b/three.h")

    def problems(self, text):
        return check_docs.check_readme("core/a/README.md", text, ["one.h", "two.h"], lambda name: bool(fnmatch.filter(self.FILES, name)))

    def test_a_readme_that_names_each_header_is_fine(self):
        self.assertEqual(self.problems("- `one.h`: x; `two.h` (`two.cpp`, `t*.cpp`), over `../b/three.h`, `core/b/three.h`, `report.json`.\n"), [])

    def test_a_missing_header_is_found(self):
        self.assertEqual(self.problems("- `one.h`: x, not two.h or `two`.\n"), ["core/a/README.md: does not name two.h"])

    def test_a_name_without_a_file_is_found_with_its_line(self):
        self.assertEqual(self.problems("`one.h`, `two.h`\n\nand `three.h`\n"), ["core/a/README.md:3: there is no file three.h"])
        self.assertEqual(self.problems("`one.h`, `two.h`\n`bench/gone.py BUILD`, `x*.cpp`\n"),
                         ["core/a/README.md:2: there is no file bench/gone.py", "core/a/README.md:2: there is no file x*.cpp"])


class Extending(unittest.TestCase):
    FILES = {"core/a.h": "int polls = 1;", "core/b.cpp": "// polls", "docs/a.md": "", "tests/t.py": "polls", "examples/new/CMakeLists.txt": "",
             "examples/new/export.h": "", "exporters/old/CMakeLists.txt": "", "exporters/old/export.h": ""}

    def problems(self, rows, head="Example: `polls`."):
        page = "## How to add a poll\n\n" + head + "\n\n| file | what |\n|---|---|\n" + "".join(f"| {row} | what |\n" for row in rows)
        return [problem.split(": ", 2)[2] for problem in check_extending.check_page(page, list(self.FILES), lambda path: self.FILES[path])]

    def test_a_complete_list_is_fine(self):
        self.assertEqual(self.problems(["`core/a.h`", "`docs/a.md`, `tests/*.py`"]), [])

    def test_what_is_not_there_or_missing_is_found(self):
        self.assertEqual(self.problems(["`core/a.h`", "`core/c.h`"]), ["there is no core/c.h"])
        self.assertEqual(self.problems(["`tests/t.py`"]), ["core/a.h is missing"])
        self.assertEqual(self.problems(["`core/a.h`", "`core/b.cpp`"]), ["core/b.cpp has none of the words of the example"])
        self.assertEqual(self.problems(["`core/a.h`"], head=""), ["no example"])

    def test_a_template_has_the_files_of_the_list(self):
        head = "Example: `polls`.\nTemplate: `examples/new`.\nPresent in: `exporters/old`."
        self.assertEqual(self.problems(["`core/a.h`", "`exporters/NAME/CMakeLists.txt`, `exporters/NAME/export.h`"], head), [])
        self.assertEqual(self.problems(["`core/a.h`", "`exporters/NAME/export.h`"], head), ["examples/new has CMakeLists.txt, export.h"])
        self.assertEqual(self.problems(["`core/a.h`", "`exporters/NAME/export.h`"], head.replace("exporters/old", "core")),
                         ["examples/new has CMakeLists.txt, export.h", "core has no export.h"])


class Files(unittest.TestCase):
    def test_creation_is_found_with_its_line(self):
        self.assertEqual(check_files.check_text("plugin/run/a.cpp", "\nopen(path, O_WRONLY | O_CREAT, 0600);\n"),
                         ["plugin/run/a.cpp:2: O_CREAT: files and directories are created by core/base/safe_file.h only"])
        for line in ("std::ofstream file(path);", "fs::copy_file(a, b);", "std::filesystem::copy(a, b);", "FILE* f = fopen(path, mode);", "mkdir(path, 0777);",
                     "::mkdtemp(name);", "creat (path, 0600);", "fs::create_directories(path, error);", "std::fstream file;", "open(path, O_TMPFILE);"):
            self.assertEqual(len(check_files.check_text("core/trace/a.cpp", line + "\n")), 1, line)

    def test_reading_and_the_one_home_are_fine(self):
        for line in ("#include <fstream>", "std::ifstream file(path);", "open(path, O_RDONLY);", "files::make_directory(path, 0777);", "// O_CREAT", 'say("mkdir(");',
                     "create_new(path, 0600, file);", "node.link = 3;", "copy_file(from, to);"):
            self.assertEqual(check_files.check_text("core/trace/a.cpp", line + "\n"), [], line)
        self.assertEqual(check_files.check_text("core/base/safe_file.cpp", "open(path, O_CREAT);\n"), [])
        self.assertEqual(check_files.check_text("tests/core/a.cpp", "std::ofstream file(path);\n"), [])

    def test_there_are_no_exceptions(self):
        self.assertEqual(len(check_files.check_text("core/trace/chunk_store.cpp", "open(path, O_CREAT);\n")), 1)


class Sizes(unittest.TestCase):
    def test_limits_are_exact(self):
        self.assertEqual(check_sizes.check_file("core/base/a.cpp", "\n" * 400), [])
        self.assertEqual(len(check_sizes.check_file("core/base/a.cpp", "\n" * 401)), 1)
        self.assertEqual(check_sizes.check_file("core/README.md", "\n" * 30), [])
        self.assertEqual(len(check_sizes.check_file("core/README.md", "\n" * 31)), 1)
        self.assertEqual(check_sizes.check_file("README.md", "\n" * 200), [])

    def test_names_are_snake_case(self):
        self.assertEqual(len(check_sizes.check_file("core/base/EventBuffer.h", "")), 1)
        self.assertEqual(check_sizes.check_file("core/base/event_buffer.h", ""), [])

    def test_long_functions_are_seen(self):
        text = "int f(int a) {\n" + "  ++a;\n" * 60 + "}\n" + "int g() {\n  return 1;\n}\n"
        self.assertEqual(list(check_sizes.long_functions(text)), [(1, 62, "f")])

    def test_long_members_and_signatures_of_several_lines_are_seen(self):
        body = "    const char brace = '{';  // }\n" * 59
        member = f"class A {{\n  template <class T>\n  T f(int a,\n      int b) const {{\n{body}  }}\n  int b = 0;\n}};\n"
        self.assertEqual(list(check_sizes.long_functions(member)), [(2, 63, "f")])
        self.assertEqual(list(check_sizes.long_functions("namespace a {\nconstexpr int k[] = {\n" + "  1,\n" * 70 + "};\n}\n")), [])

    def test_long_functions_of_the_product_are_refused(self):
        text = "int f(int a) {\n" + "  ++a;\n" * 60 + "}\n"
        self.assertEqual(check_sizes.check_functions("core/base/a.cpp", text),
                         (["core/base/a.cpp:1: f() has 62 lines, at most 60"], []))
        self.assertEqual(check_sizes.check_functions("tests/core/a.cpp", text),
                         ([], ["tests/core/a.cpp:1: f() has 62 lines, at most 60"]))
        self.assertEqual(check_sizes.check_functions("core/record/event_view.h", text.replace("f(", "dispatch(")), ([], []))


class Words(unittest.TestCase):
    def test_machine_paths_and_bare_todos_are_found(self):
        for line in ("see /work/x", "'/root/x'", "// TODO: later", "blank "):
            self.assertEqual(len(check_words.check_text("docs/a.md", line + "\n")), 1, line)
        for line in ("network/work/x", "TODO(#12): later", "${DIR}/home/x"):
            self.assertEqual(check_words.check_text("docs/a.md", line + "\n"), [], line)


class Glossary(unittest.TestCase):
    TABLE = ("# Glossary\n\n| keep | this |\n\n## Words that are not used\n\n| do not write | write |\n|---|---|\n| guest, wish book | x |\n"
             "| _slowly | y |\n\n## Words with one meaning\n\n| word | z |\n")

    def words(self, text):
        return [word for _, word in glossary.uses(glossary.pattern_of(glossary.refused_words(self.TABLE)), text)]

    def test_the_first_column_of_its_section_is_read(self):
        self.assertEqual(glossary.refused_words(self.TABLE), ["guest", "wish book", "_slowly"])

    def test_words_are_found_in_prose_and_in_identifiers(self):
        for text in ("a guest comes", "GuestBudget", "kGuest", "the_guest_", "void enter_slowly();", "a wish book", "WishBook"):
            self.assertEqual(len(self.words(text)), 1, text)

    def test_parts_of_words_and_contracts_are_not_found(self):
        for text in ("guesthouse", "a word", "MEGASCOPE_LIVE_GUEST_RATE", "megascope_live_guest_bytes_total", "wish it"):
            self.assertEqual(self.words(text), [], text)

    def test_contracts_have_names_that_stay(self):
        found = glossary.pattern_of(["wishes", "step talk", "folder", "folders", "culprit", "culprits"])
        for text in ('{"wishes", kMax}', "`step_talk`", '"run_folder"', '"culprits":', 'of["culprits"]'):
            self.assertEqual(list(glossary.uses(found, text)), [], text)
        for text in ('set it to a "\n"folder")', "wishes", "step_talk", "run_folder", "a culprit", "the culprits' costs", "two culprits: 0, 1",
                     "--folder DIR", "/tmp/folder-1", "MEGASCOPE_GOLDEN_FOLDER", "_megascope_folder"):
            self.assertEqual(len(list(glossary.uses(found, text))), 1, text)

    def test_contracts_are_in_the_files_that_define_them(self):
        for pattern, path in glossary.CONTRACTS:
            self.assertRegex(repository.read(check_includes.ROOT, path), pattern)

    def test_names_of_files_are_checked(self):
        found = glossary.pattern_of(["folder"])
        self.assertEqual(check_words.check_glossary(found, "docs/a-folder.md", ""), ["docs/a-folder.md: docs/glossary.md refuses the word: folder"])

    def test_one_use_is_refused(self):
        for text, code in (("a guest comes\n", 1), ("a background thread comes\n", 0)):
            with tempfile.TemporaryDirectory() as root, contextlib.redirect_stdout(io.StringIO()) as out:
                os.mkdir(os.path.join(root, "docs"))
                for path, content in (("docs/glossary.md", self.TABLE), ("docs/a.md", text)):
                    with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                        file.write(content)
                with self.assertRaises(SystemExit) as ended:
                    check_words.main(root)
            self.assertEqual(ended.exception.code, code, out.getvalue())
            self.assertEqual("docs/a.md:1: docs/glossary.md refuses the word: guest" in out.getvalue(), code == 1)


if __name__ == "__main__":
    unittest.main()
