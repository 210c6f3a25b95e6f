"""The Python package's tables are those of megascope.h: the same functions in the same order, with the same types.

  table_test.py MEGASCOPE_H
"""

import ctypes
import pathlib
import re
import sys
import unittest

HEADER = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from megascope import _table  # noqa: E402  # pylint: disable=wrong-import-position,protected-access

SIMPLE = {
    "void": None, "int": ctypes.c_int, "size_t": ctypes.c_size_t, "int64_t": ctypes.c_int64, "int32_t": ctypes.c_int32,
    "double": ctypes.c_double, "megascope_region": ctypes.c_uint32, "megascope_counter": ctypes.c_uint32,
    "const char*": ctypes.c_char_p, "char*": ctypes.c_char_p, "const void*": ctypes.c_void_p, "void*": ctypes.c_void_p,
    "const megascope_where*": ctypes.c_void_p, "const megascope_tensor_view*": ctypes.c_void_p,
    "const int64_t*": ctypes.POINTER(ctypes.c_int64),
}


def body_of(struct: str) -> str:
    """Members of a struct in the header, without comments."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.search(rf"typedef struct {struct} {{(.*?)}} {struct};", text, re.DOTALL)[1]


def functions_of(struct: str):
    """(name, type of the result, types of the parameters) of each member that is a pointer to a function."""
    for result, name, parameters in re.findall(r"([\w ]+\*?) *\(\*(\w+)\)\((.*?)\);", body_of(struct)):
        types = [SIMPLE[one.strip()] for one in parameters.split(",")]
        yield name, SIMPLE[result.strip()], () if types == [None] else tuple(types)


def members_of(struct: str):
    """(name, type) of each member that is not a pointer to a function."""
    extents = {"MEGASCOPE_MAX_DIMENSIONS": _table.MAX_DIMENSIONS, "MEGASCOPE_MAX_BLOCKS": _table.MAX_BLOCKS}
    for kind, name, extent in re.findall(r"([\w ]+\*?) (\w+)(?:\[(\w+)\])?;", body_of(struct)):
        one = SIMPLE[kind.strip()]
        yield name, one * extents[extent] if extent else one


class Tables(unittest.TestCase):
    def test_functions(self):
        table = [(name, kind._restype_, kind._argtypes_) for name, kind in _table._HooksTable._fields_[1:]]
        expected = list(functions_of("megascope_hooks_table"))
        self.assertGreater(len(expected), 15)
        self.assertEqual(table, expected)

    def test_structs(self):
        for python, struct in ((_table.TensorView, "megascope_tensor_view"), (_table.Where, "megascope_where")):
            with self.subTest(struct=struct):
                self.assertEqual(list(python._fields_), list(members_of(struct)))

    def test_limits(self):
        header = dict(re.findall(r"#define (MEGASCOPE_\w+) \(?(-?\d+)\)?$", HEADER.read_text(encoding="utf-8"), re.MULTILINE))
        for name, value in (("MAX_DIMENSIONS", _table.MAX_DIMENSIONS), ("MAX_BLOCKS", _table.MAX_BLOCKS), ("NOWHERE", _table.NOWHERE)):
            self.assertEqual(int(header["MEGASCOPE_" + name]), value)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
