#include "analysis/symbols/elf_file.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace megascope::symbols {
namespace {

template <class T>
bool get(std::span<const std::byte> bytes, std::size_t index, T& value) {
  if (index >= bytes.size() / sizeof(T)) return false;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return true;
}

std::string_view text_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return {};
  const auto* first = reinterpret_cast<const char*>(bytes.data() + offset);
  return {first, strnlen(first, bytes.size() - offset)};
}

std::string hexadecimal(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

constexpr std::size_t rounded(std::size_t size) { return (size + 3) / 4 * 4; }

/// The build id among notes; empty when none is one.
std::string build_id_of(std::span<const std::byte> notes) {
  Elf64_Nhdr note;
  while (get(notes, 0, note)) {
    const std::size_t description = sizeof note + rounded(note.n_namesz);
    const std::size_t end = description + rounded(note.n_descsz);
    if (end > notes.size()) break;
    const bool is_gnu = note.n_namesz == 4 &&
                        std::memcmp(notes.data() + sizeof note, "GNU", 4) == 0;
    if (is_gnu && note.n_type == NT_GNU_BUILD_ID)
      return hexadecimal(notes.subspan(description, note.n_descsz));
    notes = notes.subspan(end);
  }
  return {};
}

}  // namespace

ElfFile::~ElfFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

bool ElfFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  struct stat info {};
  void* mapping = MAP_FAILED;
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    mapping = mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_PRIVATE, file,
                   0);
  }
  close(file);
  if (mapping == MAP_FAILED) return false;
  bytes_ = {static_cast<const std::byte*>(mapping), static_cast<std::size_t>(info.st_size)};
  written_ns_ = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  return read_sections();
}

std::span<const std::byte> ElfFile::part(std::uint64_t offset, std::uint64_t size) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset) return {};
  return bytes_.subspan(offset, size);
}

bool ElfFile::read_sections() {
  Elf64_Ehdr header;
  if (!get(bytes_, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return false;
  const std::span<const std::byte> table = part(header.e_shoff,
                                                std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  std::vector<std::uint32_t> names;
  Elf64_Shdr section;
  for (std::size_t i = 0; get(table, i, section); ++i) {
    const bool has_bytes = section.sh_type != SHT_NOBITS;
    sections_.push_back({.name = {},
                         .type = section.sh_type,
                         .linked = section.sh_link,
                         .bytes = has_bytes ? part(section.sh_offset, section.sh_size)
                                            : std::span<const std::byte>()});
    names.push_back(section.sh_name);
  }
  if (header.e_shstrndx >= sections_.size()) return true;
  const std::span<const std::byte> texts = sections_[header.e_shstrndx].bytes;
  for (std::size_t i = 0; i < names.size(); ++i) sections_[i].name = text_at(texts, names[i]);
  return true;
}

const ElfFile::Section* ElfFile::section(std::string_view name) const {
  const auto found = std::ranges::find(sections_, name, &Section::name);
  return found == sections_.end() ? nullptr : &*found;
}

bool ElfFile::has_section(std::string_view name) const { return section(name) != nullptr; }

std::string ElfFile::build_id() const {
  for (const Section& section : sections_) {
    if (section.type != SHT_NOTE) continue;
    std::string id = build_id_of(section.bytes);
    if (!id.empty()) return id;
  }
  return {};
}

std::string ElfFile::debug_link() const {
  const Section* const link = section(".gnu_debuglink");
  return link == nullptr ? std::string() : std::string(text_at(link->bytes, 0));
}

void ElfFile::read_functions(std::uint32_t type) {
  for (const Section& table : sections_) {
    if (table.type != type || table.linked >= sections_.size()) continue;
    Elf64_Sym symbol;
    for (std::size_t i = 0; get(table.bytes, i, symbol); ++i) {
      const auto kind = ELF64_ST_TYPE(symbol.st_info);
      if ((kind != STT_FUNC && kind != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
          symbol.st_size == 0)
        continue;
      functions_.push_back({symbol.st_value, symbol.st_size,
                            text_at(sections_[table.linked].bytes, symbol.st_name)});
    }
  }
}

std::string_view ElfFile::function_at(std::uint64_t address) {
  if (!std::exchange(has_functions_, true)) {
    read_functions(SHT_SYMTAB);
    if (functions_.empty()) read_functions(SHT_DYNSYM);
    std::ranges::sort(functions_, {}, &Function::address);
  }
  auto after = std::ranges::upper_bound(functions_, address, {}, &Function::address);
  if (after == functions_.begin()) return {};
  const Function& function = *--after;
  return address - function.address < function.size ? function.name : std::string_view();
}

}  // namespace megascope::symbols
