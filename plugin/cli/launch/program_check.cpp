#include "plugin/cli/launch/program_check.h"

#include "core/config/environment.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utility>

namespace megascope::cli {
namespace {

using report::NothingCause;

constexpr std::size_t kMaxTableBytes = 1 << 20;
constexpr std::size_t kMaxProgramHeaders = 256;
constexpr std::size_t kMaxSymbolBytes = 64 << 20;

/// A 64-bit ELF file, read on demand.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (!read(0, &header_, sizeof header_) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0)
      return;
    is_elf_ = true;
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_phentsize != sizeof(Elf64_Phdr))
      return;
    segments_.resize(std::min<std::size_t>(header_.e_phnum, kMaxProgramHeaders));
    is_valid_ = read(header_.e_phoff, segments_.data(), segments_.size() * sizeof(Elf64_Phdr));
  }
  ~ElfFile() {
    if (file_ >= 0) close(file_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  bool is_valid() const { return is_valid_ && header_.e_machine == EM_X86_64; }
  bool is_of_other_machine() const {
    return is_elf_ && !is_valid() && (header_.e_type == ET_EXEC || header_.e_type == ET_DYN);
  }
  bool has_segment(std::uint32_t type) const { return segment(type) != nullptr; }

  /// The dynamic loader; empty: none.
  std::string loader() const {
    const Elf64_Phdr* part = segment(PT_INTERP);
    if (part == nullptr || part->p_filesz == 0 || part->p_filesz > PATH_MAX) return {};
    std::string path(part->p_filesz, '\0');
    if (!read(part->p_offset, path.data(), path.size())) return {};
    return path.c_str();
  }

  /// Whether the symbol table defines the function. A stripped program has no symbol table.
  bool has_own(std::string_view function) const {
    std::vector<Elf64_Shdr> sections(header_.e_shentsize == sizeof(Elf64_Shdr) ? header_.e_shnum
                                                                               : 0);
    if (!read(header_.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr))) return false;
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type == SHT_SYMTAB && section.sh_link < sections.size() &&
          is_defined_in(section, sections[section.sh_link], function))
        return true;
    }
    return false;
  }

  /// DT_NEEDED names.
  std::vector<std::string> needed() const {
    const Elf64_Phdr* dynamic = segment(PT_DYNAMIC);
    if (dynamic == nullptr || dynamic->p_filesz > kMaxTableBytes) return {};
    std::vector<Elf64_Dyn> entries(dynamic->p_filesz / sizeof(Elf64_Dyn));
    if (!read(dynamic->p_offset, entries.data(), entries.size() * sizeof(Elf64_Dyn))) return {};
    std::uint64_t strings_address = 0;
    std::uint64_t strings_bytes = 0;
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_STRTAB) strings_address = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) strings_bytes = entry.d_un.d_val;
    }
    if (strings_bytes == 0 || strings_bytes > kMaxTableBytes) return {};
    std::vector<char> strings(strings_bytes + 1, '\0');  // terminates every name
    if (!read(offset_of(strings_address), strings.data(), strings_bytes)) return {};
    std::vector<std::string> names;
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_NEEDED && entry.d_un.d_val < strings_bytes)
        names.emplace_back(&strings[entry.d_un.d_val]);
    }
    return names;
  }

 private:
  bool read(std::uint64_t offset, void* to, std::size_t bytes) const {
    return file_ >= 0 && offset <= LONG_MAX &&
           pread(file_, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }
  bool is_defined_in(const Elf64_Shdr& table, const Elf64_Shdr& names,
                     std::string_view function) const {
    if (table.sh_size > kMaxSymbolBytes || names.sh_size > kMaxSymbolBytes || names.sh_size == 0)
      return false;
    std::vector<Elf64_Sym> symbols(table.sh_size / sizeof(Elf64_Sym));
    std::string text(names.sh_size, '\0');
    if (!read(table.sh_offset, symbols.data(), symbols.size() * sizeof(Elf64_Sym)) ||
        !read(names.sh_offset, text.data(), text.size()))
      return false;
    return std::any_of(symbols.begin(), symbols.end(), [&](const Elf64_Sym& symbol) {
      return symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
             symbol.st_name < text.size() && function == &text[symbol.st_name];
    });
  }
  const Elf64_Phdr* segment(std::uint32_t type) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type == type) return &segment;
    }
    return nullptr;
  }
  std::uint64_t offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
          address - segment.p_vaddr < segment.p_filesz) {
        return segment.p_offset + (address - segment.p_vaddr);
      }
    }
    return UINT64_MAX;
  }

  int file_;
  bool is_elf_ = false;
  bool is_valid_ = false;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
};

void add(report::NothingRecorded& facts, NothingCause cause, std::string detail) {
  facts.found.push_back(cause);
  facts.details.push_back(std::move(detail));
}

bool is_of_mpich(const std::string& library) {
  static constexpr std::array kNames = {"libmpich", "libmpi.so.12", "libmpi_cray",
                                        "libmpifort.so.12"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](const char* name) { return library.starts_with(name); });
}
bool is_of_open_mpi(const std::string& library) {
  return library.starts_with("libmpi.so.") && !is_of_mpich(library);
}

void check_needed(const std::vector<std::string>& needed, report::NothingRecorded& facts) {
  static constexpr const char* kMpichFortran = "libmpichfort";
  const bool is_for_mpich = std::string_view(MEGASCOPE_MPI_LIBRARY) == "mpich";
  for (const std::string& name : needed) {
    const bool is_other = is_for_mpich ? is_of_open_mpi(name) : is_of_mpich(name);
    if (is_other) return add(facts, NothingCause::kOtherMpi, "it needs " + name);
  }
  for (const std::string& name : needed) {
    if (name.starts_with(kMpichFortran))
      return add(facts, NothingCause::kFortran, "it needs " + name);
  }
}

}  // namespace

std::string find_program(const std::string& name) {
  std::vector<std::string> candidates;
  if (name.find('/') != std::string::npos) {
    candidates.push_back(name);
  } else {
    std::string path = config::environment_value("PATH");
    if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin";
    for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
      end = path.find(':', begin);
      const std::string directory = path.substr(begin, end - begin);
      candidates.push_back((directory.empty() ? "." : directory) + "/" + name);
    }
  }
  for (const std::string& candidate : candidates) {
    struct stat info {};
    if (stat(candidate.c_str(), &info) != 0 || !S_ISREG(info.st_mode) ||
        access(candidate.c_str(), X_OK) != 0)
      continue;
    char resolved[PATH_MAX];
    return realpath(candidate.c_str(), resolved) != nullptr ? std::string(resolved) : candidate;
  }
  return {};
}

std::string loader_of(const std::string& path) {
  const ElfFile elf(path);
  return elf.is_valid() ? elf.loader() : std::string();
}

void check_program(const std::string& path, report::NothingRecorded& facts) {
  const ElfFile elf(path);
  if (elf.is_of_other_machine()) return add(facts, NothingCause::kOtherMachine, path);
  if (!elf.is_valid()) return;
  if (!elf.has_segment(PT_INTERP))
    return add(facts, NothingCause::kStaticProgram, path + " has no dynamic loader");
  struct stat info {};
  const bool has_other_rights = stat(path.c_str(), &info) == 0 &&
                                (info.st_mode & (S_ISUID | S_ISGID)) != 0;
  if (has_other_rights || getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
    add(facts, NothingCause::kSecureProgram, path);
  }
  facts.excluded.insert(
      facts.excluded.end(),
      {NothingCause::kStaticProgram, NothingCause::kSecureProgram, NothingCause::kOtherMachine});
  if (elf.has_own("PMPI_Init")) {
    add(facts, NothingCause::kMpiInside, "it contains PMPI_Init");
  } else {
    facts.excluded.push_back(NothingCause::kMpiInside);
  }
  check_needed(elf.needed(), facts);
}

}  // namespace megascope::cli
