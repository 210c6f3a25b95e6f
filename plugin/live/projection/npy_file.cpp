#include "plugin/live/projection/npy_file.h"

#include "kernels/elements.h"
#include "kernels/tensor_statistics.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace megascope::live {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

/// The value of a key in the header, which is a Python dictionary literal; empty if absent.
std::string_view value_of(std::string_view header, std::string_view key) {
  const std::size_t at = header.find("'" + std::string(key) + "':");
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size() + 3);
  return rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
}

/// Parses a shape such as "(12, 768)".
std::optional<std::array<std::uint64_t, 2>> shape_in(std::string_view text) {
  std::array<std::uint64_t, 2> shape{};
  if (!text.starts_with('(')) return std::nullopt;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size();
  for (std::uint64_t& extent : shape) {
    while (at != end && *at == ' ') ++at;
    const auto [behind, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || behind == end || *behind != (&extent == &shape[0] ? ',' : ')'))
      return std::nullopt;
    at = behind + 1;
  }
  return shape;
}

std::optional<ElementType> type_in(std::string_view text) {
  if (text.starts_with("'<f2'")) return ElementType::kFloat16;
  if (text.starts_with("'<f4'")) return ElementType::kFloat32;
  return text.starts_with("'<f8'") ? std::optional(ElementType::kFloat64) : std::nullopt;
}

/// Splits a file into header and content. False: not a .npy file.
bool split(std::span<const std::byte> bytes, std::string_view& header,
           std::span<const std::byte>& content) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic) || text.size() < 12) return false;
  const auto major = static_cast<unsigned char>(text[6]);
  if (major < 1 || major > 3) return false;
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    length |= std::size_t{static_cast<unsigned char>(text[8 + i])} << (8 * i);
  const std::size_t begin = 8 + length_bytes;
  if (length > text.size() - begin) return false;
  header = text.substr(begin, length);
  content = bytes.subspan(begin + length);
  return true;
}

struct Closer {
  int descriptor;
  ~Closer() { close(descriptor); }
};

Status read_all(int descriptor, const std::string& path, std::vector<std::byte>& bytes) {
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0) return Status::from_errno(path, errno);
  if (!S_ISREG(facts.st_mode)) return Status::error(path + " is not a regular file");
  if (facts.st_size > static_cast<off_t>(kMaxNpyBytes))
    return Status::error(path + " is larger than " + std::to_string(kMaxNpyBytes >> 20) + " MiB");
  bytes.resize(static_cast<std::size_t>(facts.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(descriptor, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Status::error(path + " could not be read completely");
    done += static_cast<std::size_t>(got);
  }
  return Status::ok();
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> found(realpath(path.c_str(), nullptr),
                                                          &std::free);
  return found ? std::string(found.get()) : std::string();
}

}  // namespace

Status read_npy(std::span<const std::byte> bytes, NpyArray& array) {
  std::string_view header;
  std::span<const std::byte> content;
  if (!split(bytes, header, content)) return Status::error("it is not a .npy file");
  const std::optional<ElementType> type = type_in(value_of(header, "descr"));
  if (!type) return Status::error("its values are not little-endian float16, float32 or float64");
  if (!value_of(header, "fortran_order").starts_with("False"))
    return Status::error("it is not in C order");
  const std::optional<std::array<std::uint64_t, 2>> shape = shape_in(value_of(header, "shape"));
  if (!shape || (*shape)[0] == 0 || (*shape)[1] == 0)
    return Status::error("its shape is not [layers, size]");
  const std::size_t element = kernels::element_bytes(*type);
  const std::size_t count = content.size() / element;
  if ((*shape)[0] > count || (*shape)[1] > count / (*shape)[0] ||
      (*shape)[0] * (*shape)[1] * element != content.size())
    return Status::error("its length does not match its shape");
  array = {.rows = (*shape)[0], .columns = (*shape)[1], .values = {}};
  array.values.resize(count);
  kernels::with_elements(*type, [&](auto kind) {
    using Element = decltype(kind);
    const auto* at = reinterpret_cast<const unsigned char*>(content.data());
    for (float& value : array.values) {
      value = static_cast<float>(kernels::load<Element>(at));
      at += element;
    }
  });
  return Status::ok();
}

Status load_npy(const std::string& directory, const std::string& path, NpyArray& array) {
  if (directory.empty())
    return Status::error(
        "vectors are disabled: set MEGASCOPE_LIVE_VECTORS, before the program starts, to their "
        "directory");
  const bool has_zero = path.find('\0') != std::string::npos;
  const std::string root = real_path(directory);
  const std::string file = has_zero || root.empty()
                               ? std::string()
                               : real_path(path.starts_with('/') ? path : root + "/" + path);
  // The same sentence whether the file is missing or elsewhere, so that clients cannot probe other
  // directories.
  const Status refusal = Status::error("`" + path.substr(0, 256) +
                                       "` is not a file in the directory MEGASCOPE_LIVE_VECTORS");
  if (has_zero || ("/" + path + "/").find("/../") != std::string::npos || file.empty() ||
      !file.starts_with(root + "/"))
    return refusal;
  const int descriptor = open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return refusal;
  const Closer closer{descriptor};
  std::vector<std::byte> bytes;
  Status status = read_all(descriptor, path, bytes);
  if (!status.is_ok()) return status;
  status = read_npy(bytes, array);
  return status.is_ok() ? status
                        : Status::error("`" + path.substr(0, 256) + "`: " + status.message());
}

void normalise_rows(NpyArray& array) {
  for (std::uint64_t row = 0; row < array.rows; ++row) {
    float* const at = array.values.data() + row * array.columns;
    double squares = 0.0;
    for (std::uint64_t i = 0; i < array.columns; ++i)
      squares += static_cast<double>(at[i]) * static_cast<double>(at[i]);
    const double length = std::sqrt(squares);
    if (!(length > 0.0) || !std::isfinite(length)) continue;
    for (std::uint64_t i = 0; i < array.columns; ++i)
      at[i] = static_cast<float>(static_cast<double>(at[i]) / length);
  }
}

}  // namespace megascope::live
