#include "plugin/tensors/wish.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace megascope::tensors {
namespace {

static_assert(std::is_trivially_copyable_v<Wish> && sizeof(Wish) == 108);

// Also detects bytes that were not written by pack_wishes()
constexpr std::uint64_t kMagic = 0x3148534957534d00;

struct Head {
  std::uint64_t magic = kMagic;
  std::uint64_t count = 0;
};

bool is_sound(const Wish& wish) {
  return wish.kind < WishKind::kCount &&
         wish.reduction < static_cast<std::uint8_t>(kernels::TileReduction::kCount) &&
         (wish.tensor_kind == kAnyKind ||
          wish.tensor_kind < static_cast<std::uint8_t>(TensorKind::kCount)) &&
         wish.every != 0 && wish.tiles != 0 && wish.tiles <= kMaxTiles &&
         wish.name.back() == '\0' && wish.name.front() != '\0';
}

}  // namespace

kernels::TileMethod Wish::method() const {
  return {static_cast<kernels::TileReduction>(reduction), (abs_flags & 1) != 0,
          (abs_flags & 2) != 0};
}

void set_method(Wish& wish, const kernels::TileMethod& method) {
  wish.reduction = static_cast<std::uint8_t>(method.reduction);
  wish.abs_flags = static_cast<std::uint8_t>((method.has_abs_before ? 1 : 0) |
                                             (method.has_abs_after ? 2 : 0));
}

bool set_pattern(Wish& wish, std::string_view pattern) {
  wish.name.fill('\0');
  if (pattern.empty() || pattern.size() >= wish.name.size() ||
      pattern.find('\0') != std::string_view::npos)
    return false;
  std::ranges::copy(pattern, wish.name.begin());
  return true;
}

std::vector<std::byte> pack_wishes(std::span<const Wish> wishes) {
  const Head head{.magic = kMagic, .count = std::min(wishes.size(), kMaxWishes)};
  std::vector<std::byte> bytes(sizeof head + head.count * sizeof(Wish));
  std::memcpy(bytes.data(), &head, sizeof head);
  if (head.count != 0)
    std::memcpy(bytes.data() + sizeof head, wishes.data(), head.count * sizeof(Wish));
  return bytes;
}

std::vector<Wish> unpack_wishes(std::span<const std::byte> bytes) {
  Head head;
  if (bytes.size() < sizeof head) return {};
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != kMagic || head.count > kMaxWishes ||
      bytes.size() < sizeof head + head.count * sizeof(Wish))
    return {};
  std::vector<Wish> wishes(head.count);
  if (head.count != 0)
    std::memcpy(wishes.data(), bytes.data() + sizeof head, head.count * sizeof(Wish));
  std::erase_if(wishes, [](const Wish& wish) { return !is_sound(wish); });
  return wishes;
}

}  // namespace megascope::tensors
