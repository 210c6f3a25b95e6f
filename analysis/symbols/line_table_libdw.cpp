#include "analysis/symbols/line_table.h"
#include "analysis/symbols/readable_name.h"
#include "core/base/safe_file.h"

#include <cstdlib>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <span>
#include <utility>

/// libdw without libdwfl, which may ask servers for debug information. libdw opens a file itself in
/// two cases only, waits there for a FIFO, and the debug information, which another user may have
/// written, names that file: units that are split (*.dwo), which are not asked for, and debug
/// information that several files share, which is given to libdw or not read.
namespace megascope::symbols {
namespace {

std::string text_of(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  const char* const text = dwarf_formstring(dwarf_attr_integrate(&die, name, &attribute));
  return text != nullptr ? text : "";
}

/// C++ and modules of Fortran are told by the symbol; other languages, and the main program of
/// Fortran, by the name.
std::string function_of(Dwarf_Die& die) {
  const std::string symbol = text_of(die, DW_AT_linkage_name);
  const bool reports_more = symbol.starts_with("_Z") || symbol.find("_MOD_") != std::string::npos;
  std::string name = reports_more ? symbol : text_of(die, DW_AT_name);
  return name.empty() ? symbol : name;
}

/// A file's debug information, open.
class DebugFile {
 public:
  DebugFile() = default;
  ~DebugFile() {
    if (dwarf_ != nullptr) dwarf_end(dwarf_);
  }
  DebugFile(const DebugFile&) = delete;
  DebugFile& operator=(const DebugFile&) = delete;

  /// Once. Of regular files only.
  bool open(const std::string& path) {
    if (files::open_given(path, file_).is_ok()) dwarf_ = dwarf_begin(file_.number(), DWARF_C_READ);
    return dwarf_ != nullptr;
  }
  Dwarf* get() const { return dwarf_; }

 private:
  files::Descriptor file_;
  Dwarf* dwarf_ = nullptr;
};

std::string hexadecimal(const void* bytes, std::size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : std::span(static_cast<const unsigned char*>(bytes), count)) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

/// Opens the debug information that `dwarf` shares with others (dwz). false: it is not there, is of
/// another build, or refers to a third file.
bool open_shared(const std::string& path, const std::string& name, const std::string& build_id,
                 DebugFile& shared) {
  if (build_id.size() <= 2) return false;
  const std::string beside = name.starts_with('/') ? name
                                                   : path.substr(0, path.rfind('/') + 1) + name;
  for (const std::string& candidate :
       {"/usr/lib/debug/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug",
        beside}) {
    if (!shared.open(candidate)) continue;
    const void* id = nullptr;
    const ssize_t size = dwelf_elf_gnu_build_id(dwarf_getelf(shared.get()), &id);
    const char* further = nullptr;
    return size > 0 && hexadecimal(id, static_cast<std::size_t>(size)) == build_id &&
           dwelf_dwarf_gnu_debugaltlink(shared.get(), &further, &id) == 0;
  }
  return false;
}

class LibdwTable final : public LineTable {
 public:
  /// Once. false: there is none that may be read.
  bool open(const std::string& path) {
    if (!file_.open(path)) return false;
    const char* name = nullptr;
    const void* id = nullptr;
    const ssize_t size = dwelf_dwarf_gnu_debugaltlink(file_.get(), &name, &id);
    if (size < 0 ||
        (size > 0 &&
         !open_shared(path, name, hexadecimal(id, static_cast<std::size_t>(size)), shared_)))
      return false;
    if (size > 0) dwarf_setalt(file_.get(), shared_.get());
    return true;
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
    if (dwarf_addrdie(file_.get(), address, &unit) != nullptr) return true;
    Dwarf_CU* next = nullptr;  // compilers may leave the table of addresses out
    while (dwarf_get_units(file_.get(), next, &next, nullptr, nullptr, &unit, nullptr) == 0) {
      if (dwarf_haspc(&unit, address) == 1) return true;
    }
    return false;
  }

  static std::string innermost_function(Dwarf_Die& unit, std::uint64_t address) {
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes(&unit, address, &scopes);
    std::string function;
    bool is_lambda = false;
    for (int i = 0; i < count && function.empty(); ++i) {
      const int tag = dwarf_tag(&scopes[i]);
      if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine && tag != DW_TAG_entry_point)
        continue;
      function = function_of(scopes[i]);
      if (function != "operator()") continue;
      is_lambda = true;  // without a symbol; the function around it follows
      function.clear();
    }
    std::free(scopes);
    return is_lambda ? readable_name(function) + "::lambda" : function;
  }

  DebugFile shared_;  ///< outlives file_, which refers to it
  DebugFile file_;
};

}  // namespace

std::unique_ptr<LineTable> open_line_table(const std::string& path) {
  auto table = std::make_unique<LibdwTable>();
  return table->open(path) ? std::move(table) : nullptr;
}

}  // namespace megascope::symbols
