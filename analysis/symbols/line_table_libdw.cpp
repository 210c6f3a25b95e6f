#include "analysis/symbols/line_table.h"

#include "analysis/symbols/readable_name.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

/// libdw without libdwfl, which may ask servers for debug information.
namespace megascope::symbols {
namespace {

std::string text_of(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  const char* const text = dwarf_formstring(dwarf_attr_integrate(&die, name, &attribute));
  return text != nullptr ? text : "";
}

/// C++ and modules of Fortran are told by the symbol; other languages, and the main program of Fortran, by the name.
std::string function_of(Dwarf_Die& die) {
  const std::string symbol = text_of(die, DW_AT_linkage_name);
  const bool tells_more = symbol.starts_with("_Z") || symbol.find("_MOD_") != std::string::npos;
  std::string name = tells_more ? symbol : text_of(die, DW_AT_name);
  return name.empty() ? symbol : name;
}

class LibdwTable final : public LineTable {
 public:
  LibdwTable(int file, Dwarf* dwarf) : file_(file), dwarf_(dwarf) {}
  ~LibdwTable() override {
    dwarf_end(dwarf_);
    close(file_);
  }

  bool find(std::uint64_t address, Place& place) override {
    Dwarf_Die unit;
    if (!find_unit(address, unit)) return false;
    place = {};
    if (Dwarf_Line* const line = dwarf_getsrc_die(&unit, address); line != nullptr) {
      int number = 0;
      const char* const source = dwarf_linesrc(line, nullptr, nullptr);
      if (source != nullptr && dwarf_lineno(line, &number) == 0 && number > 0) {
        place.file = source;
        place.line = static_cast<std::uint32_t>(number);
      }
    }
    place.function = innermost_function(unit, address);
    return place.line != 0 || !place.function.empty();
  }

 private:
  bool find_unit(std::uint64_t address, Dwarf_Die& unit) {
    if (dwarf_addrdie(dwarf_, address, &unit) != nullptr) return true;
    Dwarf_CU* next = nullptr;  // compilers may leave the table of addresses out
    while (dwarf_get_units(dwarf_, next, &next, nullptr, nullptr, &unit, nullptr) == 0) {
      if (dwarf_haspc(&unit, address) == 1) return true;
    }
    return false;
  }

  static std::string innermost_function(Dwarf_Die& unit, std::uint64_t address) {
    Dwarf_Die with_code = unit;
    std::uint8_t type = 0;
    Dwarf_Die split;
    if (dwarf_cu_info(unit.cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr) == 0 && type == DW_UT_skeleton &&
        dwarf_tag(&split) != DW_TAG_invalid) {
      with_code = split;
    }
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes(&with_code, address, &scopes);
    std::string function;
    bool is_lambda = false;
    for (int i = 0; i < count && function.empty(); ++i) {
      const int tag = dwarf_tag(&scopes[i]);
      if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine && tag != DW_TAG_entry_point) continue;
      function = function_of(scopes[i]);
      if (function != "operator()") continue;
      is_lambda = true;  // without a symbol; the function around it follows
      function.clear();
    }
    std::free(scopes);
    return is_lambda ? readable_name(function) + "::lambda" : function;
  }

  int file_;
  Dwarf* dwarf_;
};

}  // namespace

std::unique_ptr<LineTable> open_line_table(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  Dwarf* const dwarf = dwarf_begin(file, DWARF_C_READ);
  if (dwarf == nullptr) {
    close(file);
    return nullptr;
  }
  return std::make_unique<LibdwTable>(file, dwarf);
}

}  // namespace megascope::symbols
